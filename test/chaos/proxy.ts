/**
 * Proxy: what stands between one process and the servers, and can fail as a network does.
 *
 * X1 What a cut holds back arrives when it is healed, late but whole and in order, if its connection still stands:
 *    as TCP would. Who gives the connection up meanwhile has lost what was in it.
 * X2 A connection that is made while the line is cut is accepted, and nothing comes through it.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export type Direction = "to the server" | "from the server" | "both";

export interface Proxy {
  /** Its addresses, one for each server behind it, as NATS_URL takes them. */
  readonly url: string;
  /** Every connection ends at once, without a word. New ones are let through. */
  drop(): void;
  /** Nothing comes through in that direction until `heal`. */
  cut(direction: Direction): void;
  /** Everything comes so much later until `heal`, milliseconds. */
  slow(byMs: number): void;
  heal(): void;
  close(): Promise<void>;
}

/** One end of a connection and what flows from it to the other. */
interface Lane {
  readonly from: Socket;
  readonly direction: Exclude<Direction, "both">;
}

/**
 * Listens on free ports of 127.0.0.1, one for each of the servers' addresses (`nats://host:port`). `sees` is shown what goes to a
 * server before it goes.
 */
export async function startProxy(
  servers: readonly string[],
  sees: (sent: Buffer) => void = () => undefined,
): Promise<Proxy> {
  const lanes = new Set<Lane>();
  let isCut: (direction: Lane["direction"]) => boolean = () => false;
  let lateByMs = 0;

  const settle = ({ from, direction }: Lane) => (isCut(direction) ? from.pause() : from.resume());
  const link = (from: Socket, to: Socket, direction: Lane["direction"]) => {
    const lane = { from, direction };
    let last = 0;
    lanes.add(lane);
    from.setNoDelay(true);
    from.on("data", (chunk: Buffer) => {
      if (direction === "to the server") sees(chunk);
      const at = Math.max(last, performance.now() + lateByMs); // What was sent later does not arrive earlier.
      last = at;
      if (at <= performance.now()) to.write(chunk);
      else setTimeout(() => to.destroyed || to.write(chunk), at - performance.now());
    });
    from.on("error", () => to.destroy());
    from.on("close", () => {
      lanes.delete(lane);
      to.destroy();
    });
    settle(lane);
  };
  const listeners = await Promise.all(
    servers.map((server) => {
      const { hostname, port } = new URL(server);
      return listen((client) => {
        const upstream = connect({ host: hostname, port: Number(port) });
        link(client, upstream, "to the server");
        link(upstream, client, "from the server");
      });
    }),
  );
  const change = () => {
    for (const lane of lanes) settle(lane);
  };
  const drop = () => {
    for (const { from } of lanes) from.resetAndDestroy();
  };

  return {
    url: listeners.map((server) => `nats://127.0.0.1:${(server.address() as AddressInfo).port}`).join(","),
    drop,
    cut: (direction) => {
      isCut = (own) => direction === "both" || direction === own;
      change();
    },
    slow: (byMs) => (lateByMs = byMs),
    heal: () => {
      isCut = () => false;
      lateByMs = 0;
      change();
    },
    close: async () => {
      drop();
      await Promise.all(listeners.map((server) => new Promise((done) => server.close(done))));
    },
  };
}

async function listen(take: (client: Socket) => void): Promise<Server> {
  const server = createServer(take);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}
