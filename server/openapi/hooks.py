"""A serializer of lines of JSON for schemathesis."""
import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(ctx, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", errors="surrogatepass")
