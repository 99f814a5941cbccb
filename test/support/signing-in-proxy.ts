/**
 * A proxy that signs people in, as far as a console behind it can tell: it hands on every request, answers and streams as they come,
 * and says who asks in headers of its own, in place of any that the caller sent. Who asks is a cookie that a test sets; a real one
 * would ask an OpenID provider.
 */
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

export interface SigningInProxy {
  readonly url: string;
  close(): Promise<void>;
}

/** Listens. `groups`: by the name of who signed in. Its own headers are what the console was told of. */
export async function startSigningInProxy(
  behind: string,
  secret: string,
  groups: Readonly<Record<string, string>>,
): Promise<SigningInProxy> {
  const server = createServer((asked, answered) => {
    const user = /(?:^|;\s*)signed-in=([^;]+)/.exec(asked.headers.cookie ?? "")?.[1] ?? "";
    const headers = {
      ...asked.headers,
      "x-sagamesh-proxy-secret": secret,
      "x-forwarded-user": user,
      "x-forwarded-groups": groups[user] ?? "",
    };
    const { hostname, port } = new URL(behind);
    const handed = request({ hostname, port, path: asked.url, method: asked.method, headers }, (response) => {
      answered.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answered);
    });
    handed.on("error", () => answered.destroy());
    answered.on("close", () => handed.destroy());
    asked.pipe(handed);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
