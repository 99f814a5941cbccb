/**
 * Chaos: one run. Builds the mesh, lets clients work and the disturber strike, waits for rest, gathers the evidence
 * and has it judged.
 *
 * C1 Everything that was started is ended, whatever happened in between.
 * C2 What a run leaves behind is kept where a promise was broken, or where a folder was named.
 */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { openMesh } from "../../services/runtime/mesh.ts";
import { type Crew, startCrew } from "./crew.ts";
import type { Attack } from "./attack.ts";
import { type Attackers, createAttackers, loadAttacks } from "./attackers.ts";
import { readBeats } from "./beats.ts";
import { disturb, type Strike } from "./disturber.ts";
import { createDriver, type Driver } from "./driver.ts";
import { type Evidence, parted, readInputs, readLedgers, readMistakes } from "./evidence.ts";
import { appendLines } from "./lines.ts";
import { noteEnd } from "./linear/end.ts";
import { openHistory } from "./linear/history.ts";
import { judgeHistories } from "./linear/judge.ts";
import { recordedPorts } from "./linear/record.ts";
import { type Options, Usage } from "./options.ts";
import { judgeEvidence } from "./oracle.ts";
import type { Violation } from "./violation.ts";
import { planBlows } from "./plan.ts";
import { type Proof, proofs } from "./proofs.ts";
import { type Proxy, startProxy } from "./proxy.ts";
import { type Report, reportOf } from "./report.ts";
import { type Servers, startServers } from "./servers.ts";
import { findHoldings, settle, type Settling } from "./settle.ts";
import { speakingMesh } from "./speaking.ts";
import { startWitness, type Witness } from "./witness.ts";
import { readAccount, startWorld, type WorldProcess } from "./world.ts";

const progressEveryMs = 5_000;

/** Everything that runs. */
interface Cast {
  readonly servers: Servers;
  readonly lines: { readonly client: Proxy; readonly outside: Proxy };
  readonly world: WorldProcess;
  readonly crew: Crew;
  readonly driver: Driver;
  readonly attackers: Attackers;
  readonly witness: Witness;
}

export async function runChaos(options: Options, tell: (line: string) => void): Promise<Report> {
  const folder =
    options.data === undefined ? await mkdtemp(join(tmpdir(), "sagamesh-chaos-")) : resolve(options.data);
  await mkdir(folder, { recursive: true });
  // What another run left there would be taken for this one's account.
  if ((await readdir(folder)).length > 0) throw new Usage(`--data: ${folder} is not empty`);
  tell(`logs and stores are in ${folder}`);
  await using ends = new AsyncDisposableStack(); // C1
  const failures: string[] = [];
  const cast = await raise(options, folder, ends, failures, tell);
  const beganAt = performance.now();
  const strikes = await storm(options, cast, tell);
  const calmAt = performance.now();
  const rest = await calmDown(options, cast, tell);
  const settledAfterMs = performance.now() - calmAt;
  const ended = (await cast.crew.stop()).filter(({ how }) => how !== "exit code 0");
  tell("reading what is left, and judging it");
  const look = () =>
    gather(options, cast, folder, {
      ...{ strikes, ...rest },
      ended: [
        ...failures,
        ...cast.crew.ended,
        ...ended.map(({ name, how }) => `${name} was told to end: ${how}`),
      ],
    });
  const evidence = await look();
  const violations = await judgeEvidence(evidence);
  const isKept = options.data !== undefined || !isAsWished(options, { violations }); // C2
  const report = reportOf(evidence, {
    ...{ violations, settledAfterMs, seconds: Math.round((calmAt - beganAt) / 1_000) },
    ...{ failedStarts: cast.crew.failedStarts(), folder: isKept ? folder : undefined },
    unfound: [],
  });
  if (isKept) await keep(folder, evidence, report); // Before it is spoiled.
  const unfound = options.prove ? await prove(cast.servers, folder, look) : [];
  await ends.disposeAsync();
  if (!isKept) await rm(folder, { recursive: true, force: true });
  return { ...report, unfound };
}

/** Whether the run came to what was wanted of it: nothing found, or what was planted. */
export const isAsWished = (
  { plant }: Options,
  { violations }: { readonly violations: readonly Violation[] },
): boolean =>
  // A plant that merely broke the code would prove nothing.
  plant === undefined ? violations.length === 0 : violations.some(({ promise }) => promise !== "CODE");

/** Spoils what is left, judges again, and gives what was not found. */
async function prove(servers: Servers, folder: string, look: () => Promise<Evidence>): Promise<string[]> {
  for (const proof of proofs) await proof.spoil(servers, folder);
  const evidence = await look();
  const violations = await judgeEvidence(evidence);
  const isAsked = ({ ofHistories }: Proof) => ofHistories !== true || "objects" in evidence.linearity;
  return proofs
    .filter((proof) => isAsked(proof) && !violations.some(proof.isFoundBy))
    .map(({ name }) => name);
}

async function raise(
  options: Options,
  folder: string,
  ends: AsyncDisposableStack,
  failures: string[],
  tell: (line: string) => void,
): Promise<Cast> {
  const { seed, hosts, workers, partitions, shards, plant } = options;
  tell("starting three servers");
  const servers = await startServers(folder, partitions, { shards });
  ends.defer(() => servers.stop());
  const addresses = servers.cluster.servers.map(({ url }) => url);
  const lines = { client: await startProxy(addresses), outside: await startProxy(addresses) };
  ends.defer(async () => {
    await Promise.all([lines.client.close(), lines.outside.close()]);
  });
  let isOver = false;
  tell("starting the outside world, hosts and workers");
  const world = await startWorld({
    ...{ folder, seed, natsUrl: lines.outside.url },
    onEnd: (how) => isOver || failures.push(`the outside world ended by itself: ${how}`),
  });
  ends.defer(async () => {
    isOver = true;
    world.child.process.kill("SIGKILL");
    await world.child.ended;
  });
  const crew = await startCrew({
    ...{ hosts, workers, folder, servers: addresses, worldUrl: world.url, fault: plant },
  });
  ends.defer(async () => {
    await crew.stop();
  });
  const client = await openMesh({ servers: lines.client.url, name: "clients", report: () => undefined });
  ends.defer(client.close);
  const acks = appendLines<never>(join(folder, "acked-clients.jsonl"));
  const history = openHistory(join(folder, "history-clients.jsonl"), "clients");
  const ports = recordedPorts(client.ports, history);
  const driver = createDriver({
    mesh: speakingMesh(ports, acks),
    ...{ seed, everyMs: options.sagaEveryMs, sleepers: options.sleepers },
  });
  const witness = startWitness(servers.ports.ledger, (error) =>
    failures.push(`the witness: ${String(error)}`),
  );
  ends.defer(witness.stop);
  const attackHistory = openHistory(join(folder, "history-attackers.jsonl"), "attackers");
  const attackers = createAttackers({
    ...{
      attacks: await chosenAttacks(options.attacks),
      seed,
      servers,
      crew,
      witness,
      history: attackHistory,
    },
  });
  await crew.serving();
  return { servers, lines, world, crew, driver, attackers, witness };
}

/** Throws Usage for a name that no attack has. */
async function chosenAttacks(names: readonly string[]): Promise<Attack[]> {
  const all = await loadAttacks();
  const [first] = names;
  if (first === "none") return [];
  if (first === "all") return all;
  if (first === "short") return all.filter(({ short }) => short);
  return names.map((name) => {
    const found = all.find((attack) => attack.name === name);
    if (found !== undefined) return found;
    throw new Usage(`--attacks: none is named "${name}"; there are ${all.map((one) => one.name).join(", ")}`);
  });
}

/** Clients work and the disturber strikes, for as long as was said. */
async function storm(options: Options, cast: Cast, tell: (line: string) => void): Promise<Strike[]> {
  const durationMs = options.minutes * 60_000;
  const strikes: Strike[] = [];
  const plan = planBlows({
    ...{ seed: options.seed, durationMs, hosts: options.hosts, workers: options.workers },
    ...{ everyMs: options.blowEveryMs, serverEveryMs: options.serverBlowEveryMs },
  });
  const over = new AbortController();
  const beganAt = performance.now();
  const { begun, ended, seen } = cast.witness;
  const progress = setInterval(() => {
    const seconds = Math.round((performance.now() - beganAt) / 1_000);
    tell(
      `${seconds} of ${Math.round(durationMs / 1_000)} s: ${begun.size} sagas begun, ${ended.size} ended, ${seen.length} turns, ${strikes.length} of ${plan.length} blows`,
    );
  }, progressEveryMs);
  try {
    await Promise.all([
      cast.driver.run(over.signal),
      cast.attackers.run(over.signal),
      disturb({ ...cast, tell }, plan, strikes),
      delay(durationMs).then(() => over.abort()),
    ]);
  } finally {
    clearInterval(progress);
  }
  return strikes;
}

/** Rest while the sleepers sleep (P5), then without them. */
async function calmDown(
  { settleMs }: Options,
  cast: Cast,
  tell: (line: string) => void,
): Promise<Pick<Evidence, "busy" | "holdings">> {
  tell("all is healed; waiting for rest");
  cast.world.calm();
  let toldAt = 0;
  const seldom = (line: string) => {
    if (performance.now() - toldAt < progressEveryMs) return;
    toldAt = performance.now();
    tell(line);
  };
  const settling: Settling = { ...cast, tell: seldom };
  const sleepers = new Set<string>(cast.driver.sleepers);
  await cast.crew.serving();
  await cast.attackers.cancelAll();
  const early = await settle(settling, (saga) => sleepers.has(saga), settleMs);
  const holdings = early.length > 0 ? [] : await findHoldings(settling);
  cast.driver.endSleepers();
  const late = await settle(settling, () => false, early.length > 0 ? settleMs / 4 : settleMs);
  return { busy: late, holdings };
}

async function gather(
  { seed }: Options,
  { servers, driver, attackers, crew, witness }: Cast,
  folder: string,
  rest: Pick<Evidence, "strikes" | "busy" | "holdings" | "ended">,
): Promise<Evidence> {
  const names = crew.members.map(({ name }) => name);
  const logs = await Promise.all(names.map((name) => readFile(join(folder, `${name}.log`), "utf8")));
  const { own: dead, attacked: deadOfAttacks } = parted(await servers.ports.dead.list());
  const { own: inputs, attacked: inputsOfAttacks } = parted(await readInputs(folder, servers));
  const read = await readLedgers(servers);
  await noteEnd(folder, { ...read, dead });
  return {
    ...{
      seed,
      started: [...driver.sagas, ...attackers.sagas],
      seen: witness.seen,
      standstills: crew.standstills,
    },
    ...read,
    ...{ dead, inputs, attacked: { inputs: inputsOfAttacks, dead: deadOfAttacks } },
    struck: attackers.struck,
    linearity: await judgeHistories(folder),
    beats: readBeats(folder),
    ...readAccount(folder),
    mistakes: readMistakes(logs),
    ...rest,
  };
}

/** What a person needs to look into it, beside the logs, the account and the stores. */
async function keep(folder: string, evidence: Evidence, report: Report): Promise<void> {
  const ledgers = join(folder, "ledgers");
  await mkdir(ledgers, { recursive: true });
  const lines = (list: readonly object[]) => list.map((one) => `${JSON.stringify(one)}\n`).join("");
  for (const [saga, turns] of evidence.ledgers)
    await writeFile(
      join(ledgers, `${saga}.jsonl`),
      lines(turns.map(({ turn, head: { seq }, storedAt }) => ({ seq, storedAt, ...turn }))),
    );
  const readable = <T extends { data: Uint8Array }>(list: readonly T[]) =>
    lines(list.map((one) => ({ ...one, data: Buffer.from(one.data).toString() })));
  await writeFile(join(folder, "inputs.jsonl"), readable(evidence.inputs));
  await writeFile(join(folder, "dead.jsonl"), readable(evidence.dead));
  await writeFile(join(folder, "strikes.jsonl"), lines(evidence.strikes));
  await writeFile(join(folder, "standstills.jsonl"), lines(evidence.standstills));
  await writeFile(join(folder, "report.json"), `${JSON.stringify(report, undefined, 2)}\n`);
}
