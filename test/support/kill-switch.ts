/**
 * A kill switch: the process that holds one ends itself by SIGKILL at a named point.
 *
 * A point is `<what>:<before|after>:<n>`: before or after the n-th time that it happens. Of a port's method
 * `before` is a call that is never sent, `after` one that has happened and whose caller never learns of it.
 * Nothing of the process runs after the point: no handler, no flush.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Delivery, Ports } from "../../services/wire/ports.ts";

export interface KillSwitch {
  before(what: string): void;
  after(what: string): void;
}

/** The switch of a point; of no point, one that never strikes. */
export function createKillSwitch(point: string | undefined): KillSwitch {
  const [what, when, nth] = point?.split(":") ?? [];
  let left = Number(nth ?? 1);
  const pass = (passed: string, at: "before" | "after") => {
    if (passed !== what || at !== when || --left > 0) return;
    process.kill(process.pid, "SIGKILL");
  };
  return { before: (passed) => pass(passed, "before"), after: (passed) => pass(passed, "after") };
}

/** Ports whose ledger, inbox, work and claims can strike: `ledger.append`, `work.publish`, `inbox.ack` and so on. */
export function withKillSwitch(ports: Ports, kill: KillSwitch): Ports {
  const bracket = async <T>(what: string, call: () => Promise<T>): Promise<T> => {
    kill.before(what);
    const answer = await call();
    kill.after(what);
    return answer;
  };
  const delivered =
    (port: string, take: (delivery: Delivery) => void) =>
    (delivery: Delivery): void => {
      kill.before(`${port}.take`);
      take({
        ...delivery,
        ack: () =>
          bracket(`${port}.ack`, async () => {
            await delivery.ack();
            // An ack is sent and not confirmed: it has happened once it has left the process.
            await delay(50);
          }),
      });
    };
  const { ledger, inbox, work, claims } = ports;
  return {
    ...ports,
    ledger: {
      ...ledger,
      append: (saga, message) => bracket("ledger.append", () => ledger.append(saga, message)),
    },
    inbox: {
      ...inbox,
      publish: (message) => bracket("inbox.publish", () => inbox.publish(message)),
      schedule: (timer) => bracket("inbox.schedule", () => inbox.schedule(timer)),
      consume: (partition, options, take) => inbox.consume(partition, options, delivered("inbox", take)),
    },
    work: {
      ...work,
      publish: (tool, message) => bracket("work.publish", () => work.publish(tool, message)),
      consume: (tool, options, take) => work.consume(tool, options, delivered("work", take)),
    },
    claims: {
      ...claims,
      create: (key, attempt, nonce) => bracket("claims.create", () => claims.create(key, attempt, nonce)),
    },
  };
}
