/**
 * Goal: what is said of who may look and act is taken whole or refused with what is missing, and the console listens elsewhere only
 * behind a door.
 * Method: flags and variables in every way that a person leaves one out.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeConfig, readConfig } from "../../../services/runtime/config.ts";
import {
  assertGuarded,
  consoleDoors,
  type DoorFlags,
  doorsText,
} from "../../../services/runtime/console-doors.ts";

let folder: string;
beforeAll(async () => (folder = await mkdtemp(join(tmpdir(), "sagamesh-doors-"))));
afterAll(() => rm(folder, { recursive: true, force: true }));

const none: DoorFlags = {
  ...{ tokenFile: undefined, lookTokenFile: undefined, proxyHeader: undefined },
  ...{ proxyGroupsHeader: undefined, proxySecretFile: undefined, acting: undefined },
};
const unset = { token: undefined, lookToken: undefined, proxySecret: undefined };
const token = "a token of some length";
const secret = "what the proxy and it share";

test("a file goes before its variable, and what is around a secret in it is no part of it", async () => {
  const file = join(folder, "token");
  await writeFile(file, `${token}\n`);
  expect(
    await consoleDoors({ ...none, tokenFile: file }, { ...unset, token: "another one, as long" }),
  ).toEqual({
    ...{ actToken: token, lookToken: undefined },
  });
  expect(await consoleDoors(none, { ...unset, lookToken: token })).toEqual({
    ...{ actToken: undefined, lookToken: token },
  });
});

test.each([
  ["a short token", none, { ...unset, token: "short" }, "SAGAMESH_CONSOLE_TOKEN"],
  ["a short one that looks", none, { ...unset, lookToken: "short" }, "SAGAMESH_CONSOLE_LOOK_TOKEN"],
  ["a file that is not there", { ...none, lookTokenFile: "/nowhere/at/all" }, unset, "--look-token-file"],
  ["one token for both", none, { ...unset, token, lookToken: token }, "are one"],
  ["a proxy without a secret", { ...none, proxyHeader: "X-User" }, unset, "secret"],
  ["a short secret", { ...none, proxyHeader: "X-User" }, { ...unset, proxySecret: "short" }, "16"],
  ["no header", { ...none, proxyHeader: "X User" }, { ...unset, proxySecret: secret }, "no header"],
  [
    "a header of browsers",
    { ...none, proxyHeader: "Cookie" },
    { ...unset, proxySecret: secret },
    "no header",
  ],
  ["who acts without a proxy", { ...none, acting: "ann" }, { ...unset, token }, "proxy"],
  [
    ...["a group of which nobody tells", { ...none, proxyHeader: "X-User", acting: "group:ops" }],
    ...[{ ...unset, proxySecret: secret }, "group"],
  ],
] as readonly (readonly [string, DoorFlags, typeof unset, string])[])(
  "%s is refused",
  async (_, flags, secrets, says) => {
    await expect(consoleDoors(flags, secrets)).rejects.toMatchObject({ code: "USAGE" });
    await expect(consoleDoors(flags, secrets)).rejects.toThrow(says);
  },
);

test("names and groups are told apart, and nobody acts whom nothing names", async () => {
  const flags = { ...none, proxyHeader: "X-User", proxyGroupsHeader: "X-Groups" };
  const secrets = { ...unset, proxySecret: secret };
  const acting = async (text?: string) =>
    (await consoleDoors({ ...flags, acting: text }, secrets)).proxy?.acting;
  expect(await acting("ann, group:ops ,bo")).toEqual({
    ...{ everybody: false, names: new Set(["ann", "bo"]), groups: new Set(["ops"]) },
  });
  expect(await acting("*")).toMatchObject({ everybody: true });
  expect(await acting()).toEqual({ everybody: false, names: new Set(), groups: new Set() });
  expect(doorsText(await consoleDoors(flags, secrets))).toContain("nobody of them acts");
});

test("it listens elsewhere only behind a door, and says which", async () => {
  expect(() => assertGuarded("0.0.0.0", {})).toThrow("anybody could act");
  expect(() => assertGuarded("127.0.0.1", {})).not.toThrow();
  expect(doorsText({})).toContain("only this machine");
  for (const doors of [
    { actToken: token },
    { lookToken: token },
    await consoleDoors({ ...none, proxyHeader: "X-User" }, { ...unset, proxySecret: secret }),
  ])
    expect(() => assertGuarded("0.0.0.0", doors)).not.toThrow();
});

test("no secret of it is shown with the configuration", () => {
  const shown = JSON.stringify(
    describeConfig(
      readConfig(
        {},
        {
          ...{ SAGAMESH_CONSOLE_TOKEN: token, SAGAMESH_CONSOLE_LOOK_TOKEN: "the looking one" },
          SAGAMESH_CONSOLE_PROXY_SECRET: secret,
        },
      ),
    ),
  );
  for (const one of [token, "the looking one", secret]) expect(shown).not.toContain(one);
});
