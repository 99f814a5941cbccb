/**
 * The secret of a gateway that was given none: one for a folder, whoever asks first, and for nobody else to read.
 */
import { chmod, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isMeshError } from "../../../protocol/errors.ts";
import { openGatewayConfig, ownSecret } from "../../../services/runtime/gateway-secret.ts";

let folder: string;
let file: string;

beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), "sagamesh-secret-")), "gateway");
  file = join(folder, "secret");
});
afterEach(() => rm(join(folder, ".."), { recursive: true }));

test("twenty who ask at once get the same, which is made once and nobody else may read", async () => {
  const secrets = await Promise.all(Array.from({ length: 20 }, () => ownSecret(folder)));
  expect(new Set(secrets).size).toBe(1);
  expect(secrets[0]?.length).toBeGreaterThanOrEqual(43);
  expect(await readdir(folder)).toEqual(["secret"]);
  await chmod(file, 0o644);
  expect(await ownSecret(folder)).toBe(secrets[0]);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test("two folders have two secrets", async () => {
  expect(await ownSecret(folder)).not.toBe(await ownSecret(join(folder, "other")));
});

test("a file that holds no secret is an error, and is not replaced", async () => {
  await ownSecret(folder);
  await writeFile(file, "short");
  const error: unknown = await ownSecret(folder).catch((e: unknown) => e);
  expect(isMeshError(error, "UNAVAILABLE")).toBe(true);
  expect((await stat(file)).size).toBe(5);
});

test("none is made without a gateway, beside a named secret, or on a server of others", async () => {
  const url = "http://a";
  const none = { url: undefined, secrets: [], folder };
  expect(await openGatewayConfig({ gateway: none, servers: undefined })).toEqual(none);
  const named = { url, secrets: ["s".repeat(32)], folder };
  expect(await openGatewayConfig({ gateway: named, servers: undefined })).toEqual(named);
  const remote = { url, secrets: [], folder };
  expect(await openGatewayConfig({ gateway: remote, servers: "nats://a" })).toEqual(remote);
  expect(await readdir(join(folder, ".."))).toEqual([]);
  const own = await openGatewayConfig({ gateway: remote, servers: undefined });
  expect(own.secrets).toEqual([await ownSecret(folder)]);
});
