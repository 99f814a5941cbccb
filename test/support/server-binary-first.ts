/**
 * Before the first test: the nats-server binary, got once if it is not there. On an empty cache that takes
 * about half a minute, longer than a hook may.
 */
import { ensureServerBinary } from "../../services/nats/server/binary.ts";

export default async function setup(): Promise<void> {
  const { version, from } = await ensureServerBinary({ report: (line) => console.log(line) });
  console.log(`tests run against nats-server ${version} (${from})`);
}
