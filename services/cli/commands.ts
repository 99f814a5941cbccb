/**
 * Commands: the table of all of them, as the help shows it.
 */
import { answer } from "./commands/answer.ts";
import { approve } from "./commands/approve.ts";
import { cancel } from "./commands/cancel.ts";
import { decode } from "./commands/decode.ts";
import { demo } from "./commands/demo.ts";
import { deny } from "./commands/deny.ts";
import { doctor } from "./commands/doctor.ts";
import { host } from "./commands/host.ts";
import { inspect } from "./commands/inspect.ts";
import { ls } from "./commands/ls.ts";
import { replay } from "./commands/replay.ts";
import { settle } from "./commands/settle.ts";
import { signal } from "./commands/signal.ts";
import { start } from "./commands/start.ts";
import { tail } from "./commands/tail.ts";
import { tasks } from "./commands/tasks.ts";
import { up } from "./commands/up.ts";
import { verify } from "./commands/verify.ts";
import { worker } from "./commands/worker.ts";
import type { CommandGroups } from "./run.ts";

export const commands: CommandGroups = {
  "Run a mesh": [demo, up, host, worker],
  "Drive sagas": [start, signal, cancel, settle],
  "Read sagas": [ls, inspect, tail, verify, replay],
  "Answer what they ask": [tasks, approve, deny, answer],
  Operate: [doctor, decode],
};
