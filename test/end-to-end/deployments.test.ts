/**
 * `sagamesh deployments` while hosts differ: processes of two versions on one real server, and the commands as people
 * type them.
 *
 * Method: hosts of test/apps/desk.ts (desk@1) and test/apps/desk-other.ts (desk@3). What is promoted or ramped is in
 * force when the command has returned, so nothing is waited for after it.
 */
import { readFile } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { DeclaredDocument, DeploymentDocument, DrainDocument } from "../../protocol/documents/deployment.ts";
import { DoctorDocument } from "../../protocol/documents/doctor.ts";
import { InspectDocument } from "../../protocol/documents/inspect.ts";
import { ServingDocument } from "../../protocol/documents/process.ts";
import { SagaRow } from "../../protocol/documents/saga.ts";
import { SentDocument, StartedDocument } from "../../protocol/documents/stored.ts";
import { type Ended, type RunningCli, runHere, startCli } from "../support/cli.ts";
import { document, documents, expectError, until } from "../support/cli-said.ts";
import { startTestServer, type TestServer } from "../support/nats-server.ts";

let server: TestServer;
const running: RunningCli[] = [];

beforeAll(async () => {
  server = await startTestServer();
});
afterEach(async () => {
  const ending = running.splice(0);
  for (const { process } of ending) process.kill("SIGKILL");
  await Promise.all(ending.map(({ ended }) => ended));
});
afterAll(() => server.stop());

const run = (...args: string[]): Promise<Ended> => runHere([...args, "--server", server.url]);
const list = () => run("deployments", "--json").then((ended) => documents(DeploymentDocument, ended));

/** A host and what it serves, once it does. */
async function host(app: string, ...more: string[]): Promise<RunningCli> {
  const cli = startCli(["host", "--app", `test/apps/${app}.ts`, "--server", server.url, "--json", ...more]);
  running.push(cli);
  await cli.says('"role":"host"');
  return cli;
}

/** Asks it to end, and waits for that. */
async function drained({ process, ended }: RunningCli): Promise<void> {
  process.kill("SIGTERM");
  await ended;
}

const input = JSON.stringify({ errand: "wait", to: "rome" });

test(
  "two versions are listed, promoted, ramped and drained while both are served",
  { timeout: 120_000 },
  async () => {
    const old = await host("desk");
    expect((await run("start", "desk", "--input", input, "--id", "one")).code).toBe(0);
    await until(
      () => run("ls", "--json").then((ended) => documents(SagaRow, ended)),
      (rows) => rows[0]?.waitsFor.includes("timer") === true || rows[0]?.turns === 2,
    );
    await host("desk-other");

    const both = await until(list, (all) => all.length === 2);
    expect(both).toMatchObject([
      { name: "desk", version: 3, starts: "all", current: false, sagas: { sleeping: 0 } },
      { name: "desk", version: 1, starts: "none", current: false, sagas: { sleeping: 1, waiting: 0 } },
    ]);
    const { stdout } = await run("deployments");
    expect(stdout).toMatch(/^DEFINITION +NEW SAGAS +RUN +SLEEP +WAIT FOR A HOST +SINCE +SERVED BY\n/);
    expect(stdout).toMatch(/\ndesk@1#[0-9a-f]{8} +none +0 +1 +0 +20\d\d-.* h-/);

    const promoted = await run("deployments", "promote", "desk@1", "--json");
    expect(document(DeclaredDocument, promoted)).toMatchObject({ name: "desk", hosts: 2, unserved: [] });
    expect((await list()).map(({ version, starts, current }) => [version, starts, current])).toEqual([
      [3, "none", false],
      [1, "all", true],
    ]);
    const ramped = await run("deployments", "ramp", "desk@3", "10%");
    expect(ramped.stdout).toMatch(
      /^10% of new sagas of desk begin with desk@3#\w{8}, the others with desk@1#\w{8}; all 2 hosts go by it\n$/,
    );
    expect((await run("deployments")).stdout).toMatch(
      /desk@3#\w{8} +10% \(ramp\)[^]*desk@1#\w{8} +90% \(current\)/,
    );

    const needed = await run("deployments", "drain", "desk@1", "--no-wait", "--json");
    expect(needed.code).toBe(1);
    expect(document(DrainDocument, needed)).toMatchObject({ needed: true, sagas: ["one"], starts: "share" });

    await run("deployments", "promote", "desk@3");
    const draining = startCli(["deployments", "drain", "desk@1", "--server", server.url]);
    running.push(draining);
    await draining.says("is needed: 1 saga goes on under it (one)", "stderr");
    await run("cancel", "one");
    expect(await draining.ended).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^nothing needs desk@1#\w{8} any more: hosts of it can be stopped\n$/,
      ) as string,
    });
    await drained(old);
    expect((await until(list, (all) => all.length === 1))[0]).toMatchObject({ version: 3, current: true });

    // What was served once can be declared still, and it is said that nothing serves it.
    // Again is free; a host whose beat is late on a busy machine is not counted for a moment.
    const { stdout: said } = await until(
      () => run("deployments", "promote", "desk@1"),
      ({ stdout: told }) => told.includes("the one host"),
    );
    expect(said).toMatch(
      /; the one host goes by it\nno host serves desk@1#\w{8}: starts of desk wait until one does\n$/,
    );
    expect((await run("deployments")).stdout).toMatch(/desk@1#\w{8} +wait \(current\).* no host\n/);
  },
);

test(
  "a saga that waits for a host says so at every command, and goes on when one comes",
  { timeout: 120_000 },
  async () => {
    const first = await host("desk");
    await run("deployments", "promote", "desk@1");
    const begin = async (id: string, errand: string) =>
      run("start", "desk", "--version", "1", "--input", JSON.stringify({ errand, to: "rome" }), "--id", id);
    await begin("sleeper", "wait");
    await begin("asker", "ask");
    await begin("caller", "airline");
    const intentOf = async (saga: string, kind: string) => {
      const found = await until(
        () => run("inspect", saga, "--json").then((ended) => documents(InspectDocument, ended)[0]),
        (one) =>
          one?.intents.some(
            ({ intent, deferred }) => intent.kind === kind && (kind === "task" || deferred),
          ) === true,
      );
      return found!.intents.find(({ intent }) => intent.kind === kind)!.intent.id;
    };
    const worker = startCli(["worker", "--app", "test/apps/desk.ts", "--server", server.url, "--json"]);
    running.push(worker);
    const question = await intentOf("asker", "task");
    const call = await intentOf("caller", "tool");
    await until(
      () => run("inspect", "sleeper", "--json").then((ended) => documents(InspectDocument, ended)),
      ([one]) => one?.turns === 2,
    );
    await drained(first);

    const waits =
      /no host serves desk@1#\w{8}: start a host of it, or move its sagas with `sagamesh migrate`/;
    const listed = documents(SagaRow, await run("ls", "--running", "--json"));
    expect(listed.map(({ saga, unserved }) => [saga, unserved?.version]).sort()).toEqual(
      ["asker", "caller", "sleeper"].map((saga) => [saga, 1]),
    );
    expect((await run("ls")).stdout).toMatch(/sleeper .* a host of desk@1#\w{8}, signal/);
    expect((await run("inspect", "sleeper")).stdout).toMatch(new RegExp(`\nwaits    ${waits.source}\n`));
    for (const words of [
      ["signal", "sleeper", "note", '{"text":"go"}'],
      ["answer", `asker/${question}`, '{"seat":"aisle"}'],
      ["settle", "caller", call, '{"answer":"yes"}'],
      ["cancel", "sleeper"],
    ]) {
      const { stdout, stderr, code } = await run(...words);
      expect([stderr, code, stdout]).toEqual([
        "",
        0,
        expect.stringMatching(new RegExp(`is stored for .*; ${waits.source}`)),
      ]);
      expect(document(SentDocument, await run(...words, "--json")).unserved).toMatchObject({
        name: "desk",
        version: 1,
      });
    }
    const tail = startCli(["tail", "caller", "--server", server.url]);
    running.push(tail);
    await tail.says(waits, "stderr");
    const start = await run("start", "desk", "--input", input, "--id", "later", "--json");
    expect(start.stderr).toContain("no host serves now, so the saga begins when one does");
    expect(document(StartedDocument, start).unserved).toMatchObject({ name: "desk", version: 1 });
    const unknown = await run("start", "desk", "--version", "7", "--input", input);
    expectError(unknown, "DEFINITION_UNKNOWN", 1);

    // A host of another version changes nothing of it, and then each finds its own.
    const other = await host("desk-other", "--health-port", "0");
    const { health } = ServingDocument.parse(
      JSON.parse((await other.says('"role":"host"')).trim().split("\n")[0] ?? ""),
    );
    await until(
      async () => (await fetch(`${health ?? ""}/metrics`)).text(),
      (text) => /\nsagamesh_sagas_waiting_for_host\{definition="desk@1#\w{8}"\} [34]\n/.test(text),
    );
    await until(list, (all) => all.some(({ version, hosts }) => version === 3 && hosts.length === 1));
    const looked = await run("doctor", "--json");
    expect(looked.code).toBe(1);
    const { findings } = document(DoctorDocument, looked);
    expect(
      findings.filter(({ severity }) => severity === "wrong").map(({ code, what }) => [code, what]),
    ).toEqual(
      expect.arrayContaining([
        [
          "UNSERVED_SAGAS",
          expect.stringMatching(/^3 sagas of desk@1#\w{8} cannot go on, .*: asker, caller, sleeper$/),
        ],
        ["PROMOTED_UNSERVED", expect.stringMatching(/^starts of desk wait: desk@1#\w{8} was promoted/)],
      ]),
    );
    const promoted = await run("start", "desk", "--input", input, "--id", "later-too");
    expect(promoted.stderr).toMatch(
      /^desk@1#\w{8} was promoted and no host serves it now, so the saga begins when one does/,
    );

    await host("desk");
    expect((await tail.ended).stdout).toMatch(/start desk@1#\w{8} [^]*caller completed/);
    const later = await until(
      () => run("ls", "--json").then((ended) => documents(SagaRow, ended)),
      (rows) => rows.some(({ saga }) => saga === "later"),
    );
    const { findings: after } = document(DoctorDocument, await run("doctor", "--json"));
    expect(after.filter(({ code }) => code.endsWith("UNSERVED") || code.startsWith("UNSERVED"))).toEqual([]);
    expect(after).toContainEqual(expect.objectContaining({ code: "DEPLOYMENTS", severity: "fine" }));
    expect(later.find(({ saga }) => saga === "later")).toMatchObject({ version: 1 });
  },
);

test.each([
  [["promote", "dsek@1"], "AGENT_UNKNOWN", 'did you mean "desk"?'],
  [["promote", "desk@7"], "DEFINITION_UNKNOWN", "no host has ever served desk@7"],
  [["promote", "desk"], "USAGE", '"desk" is not a definition'],
  [["promote"], "USAGE", "the definition is missing"],
  [["ramp", "desk@3"], "USAGE", "expected a share from 0% to 100%, got nothing"],
  [["ramp", "desk@3", "0.1"], "USAGE", 'got "0.1"'],
  [["ramp", "desk@3", "101%"], "USAGE", 'got "101%"'],
  [["drain", "desk@1", "10%"], "USAGE", '"10%" is one word too many'],
  [["promot", "desk@1"], "USAGE", 'did you mean "promote"?'],
  [["ls", "desk@1"], "USAGE", "is one word too many"],
  [["promote", "desk@1", "--no-wait"], "USAGE", "--no-wait is for drain"],
] as const)("deployments %j is refused with %s", async (words, code, says) => {
  const ended = await run("deployments", ...words);
  expectError(ended, code, code === "USAGE" ? 2 : 1);
  expect(ended.stderr).toContain(says);
});

test(
  "what the runbook says of a changed version works as it is written there",
  { timeout: 60_000 },
  async () => {
    await server.stop();
    server = await startTestServer(); // Nothing lives there, and nothing is declared.
    const runbook = await readFile(new URL("../../deploy/runbook.md", import.meta.url), "utf8");
    const section = runbook.slice(runbook.indexOf("**Version skew.**"), runbook.indexOf("**Two hosts keep"));
    const commands = [...section.matchAll(/`sagamesh (deployments[^`]* hire@[^`]*)`/g)].map(
      ([, words = ""]) => words,
    );
    expect(commands.map((words) => words.split(" ")[1])).toEqual([
      ...["promote", "ramp", "ramp", "promote", "drain", "promote"],
    ]);
    await host("desk");
    await host("desk-other");
    await until(list, (all) => all.length === 2);
    for (const words of commands) {
      const typed = words.replace("hire@1", "desk@1").replace("hire@2", "desk@3");
      expect([typed, (await run(...typed.split(" "))).code]).toEqual([typed, 0]);
    }
    expect(await list()).toMatchObject([
      { version: 3, current: false, starts: "none" },
      { version: 1, current: true, starts: "all" },
    ]);
  },
);
