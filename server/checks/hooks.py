"""Lines of JSON for schemathesis."""

import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def print_lines(ctx: object, value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", errors="surrogatepass")


@schemathesis.deserializer("application/x-ndjson")
def read_lines(ctx: object, response: schemathesis.Response) -> list[object]:
    return [json.loads(line) for line in response.content.splitlines()]
