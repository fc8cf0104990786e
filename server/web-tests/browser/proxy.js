/** A proxy that serves a server under a path, as JupyterHub and nginx do. */

import { createServer, request } from "node:http";

/**
 * Starts a proxy, and returns it with its port.
 * @param {string} target the address of the server
 * @param {string} prefix the path, without a slash at its end
 * @param {{keepHost: boolean}} options whether the server gets the header `Host` of the browser, or its own name
 * @returns {Promise<[import("node:http").Server, number]>}
 */
export async function startProxy(target, prefix, { keepHost }) {
  const { hostname, port, host } = new URL(target);
  const proxy = createServer((asked, answer) => {
    const path = asked.url ?? "";
    if (!path.startsWith(`${prefix}/`)) {
      answer.writeHead(404, { "Content-Type": "text/plain" }).end("the proxy has nothing here");
      return;
    }
    const headers = { ...asked.headers, ...(keepHost ? {} : { host }) };
    const options = { hostname, port, path: path.slice(prefix.length), method: asked.method, headers };
    const forwarded = request(options, (found) => {
      answer.writeHead(found.statusCode ?? 502, found.headers);
      found.pipe(answer);
    });
    forwarded.on("error", () => answer.destroy());
    answer.on("close", () => forwarded.destroy());
    asked.pipe(forwarded);
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", () => resolve(null)));
  const address = proxy.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");
  return [proxy, address.port];
}
