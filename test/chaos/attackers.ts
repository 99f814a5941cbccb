/**
 * Attackers: has every chosen attack strike through the storm, each at its own times, and cancels their sagas afterwards.
 */
import { readdir } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { chainHash } from "../../protocol/digest.ts";
import { parseSagaId, type SagaId } from "../../protocol/ids.ts";
import { headers as names, subjects } from "../../protocol/subjects.ts";
import { seededChance } from "../../services/memory/faults.ts";
import { createRequests } from "../../services/nats/requests.ts";
import { encodeHeaders } from "../../services/nats/headers.ts";
import { systemClock } from "../../services/runtime/system.ts";
import { patiently } from "../../services/wire/patience.ts";
import { withPatientReads } from "../../services/wire/patient-ports.ts";
import { type Attack, attackHeader, type Fact, type Field, type Struck } from "./attack.ts";
import type { Crew } from "./crew.ts";
import type { Call, History } from "./linear/history.ts";
import { recordedPorts } from "./linear/record.ts";
import type { Servers } from "./servers.ts";
import type { Witness } from "./witness.ts";

const folder = new URL("attacks/", import.meta.url);

/** Every attack there is, by name: each file of `attacks/` has one. */
export async function loadAttacks(): Promise<Attack[]> {
  const files = (await readdir(fileURLToPath(folder))).filter((name) => name.endsWith(".ts")).sort();
  return Promise.all(
    files.map(async (file) => ((await import(new URL(file, folder).href)) as { attack: Attack }).attack),
  );
}

export interface Attackers {
  /** Every saga that they started. */
  readonly sagas: readonly SagaId[];
  readonly struck: readonly Struck[];
  /** Strikes until the signal, and a little longer where a strike is under way. */
  run(signal: AbortSignal): Promise<void>;
  /** Cancels every saga of theirs that has begun and not ended (AT3). */
  cancelAll(): Promise<void>;
}

export interface AttackersOptions {
  readonly attacks: readonly Attack[];
  readonly seed: number;
  readonly servers: Servers;
  readonly crew: Crew;
  readonly witness: Witness;
  readonly history: History;
}

export function createAttackers(options: AttackersOptions): Attackers {
  const { attacks, seed, servers, crew, witness, history } = options;
  const sagas: SagaId[] = [];
  const named = new Set<SagaId>();
  const over = new AbortController();
  const ports = recordedPorts(withPatientReads(servers.ports, systemClock), history);
  const requests = createRequests(servers.nc);

  const send = async (subject: string, body: unknown, saga: SagaId, id: string): Promise<void> => {
    const data = Buffer.from(JSON.stringify(body));
    const message = { subject, data, headers: { [names.event]: id }, msgId: `${saga}:attacker:${id}` };
    await patiently(systemClock, () => ports.inbox.publish(message), {
      patienceMs: Number.POSITIVE_INFINITY,
    });
  };
  const cancel = (saga: SagaId) =>
    send(subjects.signal(saga, "cancel"), { reason: "the storm is over" }, saga, "cancel");

  const fieldOf = (attack: Attack, facts: Fact[]): Field => ({
    ...{ ports, crew, witness, cancel, over: over.signal },
    nameSaga: (kind) => {
      const saga = parseSagaId(`${kind}-${attack.name}-${named.size}`);
      named.add(saga);
      return saga;
    },
    begin: async (saga, input) => {
      const kind = saga.split("-")[0];
      sagas.push(saga);
      await send(subjects.start(saga), { name: kind, input }, saga, "start");
    },
    until: async (what, saga) => {
      while (!over.signal.aborted && !witness[what].has(saga)) await delay(50);
    },
    store: async (subject, data, given = {}) => {
      const bytes = encodeHeaders({ ...given, [attackHeader]: attack.name }, {});
      const store = async () => {
        const { data: said } = await requests.one(subject, data, bytes);
        return JSON.parse(Buffer.from(said).toString()) as { seq?: number; error?: { description: string } };
      };
      const call = callOf(subject, data);
      const recorded = (made: Call) =>
        history.record(
          made,
          store,
          ({ seq }) => (seq === undefined ? { outcome: "nothing" } : { outcome: "done", seq }),
          () => ({ outcome: "unknown" }),
        );
      const ack = () => (call === undefined ? store() : recorded(call));
      const { seq, error } = await patiently(systemClock, ack, { patienceMs: 60_000 });
      if (seq === undefined) throw new Error(`${subject}: ${error?.description ?? "not stored"}`);
      return seq;
    },
    shout: (subject, data) => servers.nc.publish(subject, data),
    note: (fact) => void facts.push(fact),
  });

  const struck = attacks.map((attack) => ({
    attack,
    facts: [] as Fact[],
    strikes: 0,
    failures: [] as string[],
  }));
  const carryOut = async (one: (typeof struck)[number]): Promise<void> => {
    const { attack, facts, failures } = one;
    const field = fieldOf(attack, facts);
    const times = seededChance(seed, `times of ${attack.name}`);
    for (let n = 0; ; n++) {
      // A first strike soon, so that a short run has some of each.
      const pauseMs = attack.everyMs * (n === 0 ? times.between(2, 5) / 10 : times.between(6, 14) / 10);
      await delay(pauseMs, undefined, { signal: over.signal }).catch(() => undefined);
      if (over.signal.aborted) return;
      await attack.strike(field, seededChance(seed, `${attack.name} ${n}`)).then(
        () => (one.strikes += 1),
        (error: unknown) => failures.push(`${attack.name}: ${String(error)}`),
      );
    }
  };
  return {
    sagas,
    struck,
    run: async (signal) => {
      signal.addEventListener("abort", () => over.abort(), { once: true });
      await Promise.all(struck.map(carryOut));
    },
    cancelAll: async () => {
      // A start that was to be refused may have been taken.
      const begun = [...named].filter((saga) => sagas.includes(saga) || witness.begun.has(saga));
      await Promise.all(begun.filter((saga) => !witness.ended.has(saga)).map(cancel));
    },
  };
}

/** What storing bytes from outside does to an object that histories are kept of. */
function callOf(subject: string, data: Uint8Array): Call | undefined {
  const [first, saga = "", last] = subject.split(".");
  if (first === "saga" && last === "ledger")
    return { object: "ledger", key: saga, do: "publish", value: chainHash(data) };
  const entry = /^\$KV\.(THROTTLE|REGISTRY)\.(.+)$/.exec(subject);
  return entry === null
    ? undefined
    : { object: "entry", key: `${entry[1]}/${entry[2]}`, do: "publish", value: chainHash(data) };
}
