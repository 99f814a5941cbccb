/**
 * Listening for HTTP: the health port and the gateway's.
 */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { describeError, MeshError } from "../../protocol/errors.ts";

/** Listens, and tells where. Throws USAGE with the remedy where it cannot. `purpose` is what it listens for. */
export function listenHttp(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
  { purpose, remedy }: { readonly purpose: string; readonly remedy: string },
): Promise<{ port: number; url: string }> {
  return new Promise((resolve, reject) => {
    server.once("error", (error) =>
      reject(
        new MeshError("USAGE", `cannot listen for ${purpose} on ${host}:${port}: ${describeError(error)}`, {
          cause: error,
          remedy,
        }),
      ),
    );
    server.listen(port, host, () => {
      const { port: listening } = server.address() as AddressInfo; // A port was listened on, not a pipe.
      resolve({
        port: listening,
        url: `http://${host.includes(":") ? `[${host}]` : host}:${listening}`,
      });
    });
  });
}
