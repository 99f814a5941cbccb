/**
 * The proxy fails as a network does, and no worse.
 *
 * Method: a real echo server behind it and real sockets in front. What does not come is waited for a while; what does
 * come is waited for as long as it takes.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Proxy, startProxy } from "./proxy.ts";

let echo: Server;
let proxy: Proxy;
/** What reached the server. */
let heard: string;
beforeEach(async () => {
  heard = "";
  echo = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (data: Buffer) => {
      heard += data.toString();
      socket.write(data);
    });
  });
  echo.listen(0, "127.0.0.1");
  await once(echo, "listening");
  proxy = await startProxy([`nats://127.0.0.1:${(echo.address() as AddressInfo).port}`]);
});
afterEach(async () => {
  await proxy.close();
  await new Promise((done) => echo.close(done));
});

async function dial(): Promise<{ socket: Socket; said: () => string; ended: Promise<void> }> {
  const socket = connect(Number(new URL(proxy.url).port), "127.0.0.1");
  let text = "";
  socket.on("data", (data: Buffer) => (text += data.toString()));
  socket.on("error", () => undefined);
  const ended = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  await once(socket, "connect");
  return { socket, said: () => text, ended };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await delay(5);
}
const aWhile = () => delay(150);

describe("proxy", () => {
  test("what is sent comes back through it", async () => {
    const { socket, said } = await dial();
    socket.write("ana");
    await until(() => said() === "ana");
  });

  test("a dropped connection ends, and the next one is let through", async () => {
    const first = await dial();
    first.socket.write("one");
    await until(() => first.said() === "one");
    proxy.drop();
    await first.ended;
    const second = await dial();
    second.socket.write("two");
    await until(() => second.said() === "two");
  });

  test("cut to the server, nothing reaches it until healed, and then everything in order", async () => {
    const { socket, said } = await dial();
    socket.write("a");
    await until(() => said() === "a");
    proxy.cut("to the server");
    socket.write("b");
    await aWhile();
    socket.write("c");
    await aWhile();
    expect(heard).toBe("a");
    proxy.heal();
    await until(() => said() === "abc");
  });

  test("cut from the server, requests arrive and answers do not", async () => {
    const { socket, said } = await dial();
    socket.write("a");
    await until(() => said() === "a");
    proxy.cut("from the server");
    socket.write("b");
    await until(() => heard === "ab");
    await aWhile();
    expect(said()).toBe("a");
    proxy.heal();
    await until(() => said() === "ab");
  });

  test("a connection made while the line is cut stays silent until it is healed", async () => {
    proxy.cut("both");
    const { socket, said } = await dial();
    socket.write("a");
    await aWhile();
    expect(heard).toBe("");
    proxy.heal();
    await until(() => said() === "a");
  });

  test("a slow line is late and in order, also when it turns fast in between", async () => {
    const { socket, said } = await dial();
    proxy.slow(300);
    socket.write("late");
    await delay(20); // Two writes, not one.
    proxy.heal();
    socket.write("early");
    expect(said()).toBe("");
    await until(() => said().length === 9);
    expect(said()).toBe("lateearly");
  });
});
