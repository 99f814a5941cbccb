/**
 * A program of one's own that embeds a host and a worker, as `sagamesh` is imported from outside. EMBED_SERVERS is the
 * server, EMBED_FILE the outside world: the tool appends a line there when it begins and when it is done, and is done
 * once the file EMBED_FILE.go is there. It is told what to do by messages and answers each with its health.
 */
import { existsSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { startHost, startWorker } from "sagamesh";
import { errandApp } from "./errand-app.ts";

const { EMBED_SERVERS: servers = "", EMBED_FILE: file = "" } = process.env;
const app = errandApp(async (key, abort) => {
  await appendFile(file, `begun ${key}\n`);
  while (!existsSync(`${file}.go`)) await sleep(50, undefined, { signal: abort });
  await appendFile(file, `done ${key}\n`);
});

const host = await startHost({ app, servers, logLevel: "error" });
const worker = await startWorker({ app, servers, logLevel: "error" });
while ((await host.health()).whyNotReady !== undefined) await sleep(50);

const say = async (what: string) =>
  process.send?.({ what, host: await host.health(), worker: await worker.health() });
process.on("message", (what) => {
  const all = [host, worker];
  void (async () => {
    if (what === "drain") await Promise.all(all.map((one) => one.drain()));
    if (what === "stop") await Promise.all(all.map((one) => one.stop()));
    await say(String(what));
    if (what === "stop") process.disconnect(); // From here on nothing may keep the process.
  })();
});
await say("serves");
