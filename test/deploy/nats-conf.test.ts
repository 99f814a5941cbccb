/**
 * The configuration files of a production cluster: the server that sagamesh runs on takes them.
 *
 * Method: `nats-server -t` on copies, with the paths of this machine and a certificate made for the occasion.
 */
import { execFile } from "node:child_process";
import { copyFile, mkdtemp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ensureServerBinary } from "../../services/nats/server/binary.ts";

const run = promisify(execFile);
const source = fileURLToPath(new URL("../../deploy/nats/", import.meta.url));
const env = { ...process.env, SYS_PASSWORD: "$2a$11$one", MESH_PASSWORD: "$2a$11$two" };
let folder: string;
let binary: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sagamesh-conf-"));
  ({ path: binary } = await ensureServerBinary({ report: () => {} }));
  const tls = join(folder, "tls");
  await mkdir(tls);
  const [key, certificate] = [join(tls, "server.key"), join(tls, "server.crt")];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  await run("openssl", ["req", "-x509", ...curve, "-keyout", key, "-out", certificate, "-subj", "/CN=n1"]);
  await copyFile(certificate, join(tls, "ca.crt"));
  for (const name of await readdir(source)) {
    const text = await readFile(join(source, name), "utf8");
    await writeFile(
      join(folder, name),
      text.replaceAll("/etc/nats/tls", tls).replaceAll('"/data"', `"${folder}/data"`),
    );
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const check = (name: string) => run(binary, ["-t", "-c", join(folder, name)], { env });

test.each(["n1.conf", "n2.conf", "n3.conf"])("%s is a configuration that the server takes", async (name) => {
  const { stderr } = await check(name);
  expect(stderr).toContain("is valid");
});

test("a word that the server does not know is refused, so the check means something", async () => {
  await writeFile(join(folder, "wrong.conf"), 'server_name: x\njetstream { stroe_dir: "/data" }\n');
  await expect(check("wrong.conf")).rejects.toThrow(/stroe_dir/);
});

test("each server syncs every write, has a name of its own and finds the other two", async () => {
  const common = await readFile(join(source, "common.conf"), "utf8");
  expect(common).toMatch(/^\s*sync_interval: always/m);
  for (const name of ["n1", "n2", "n3"]) {
    expect(await readFile(join(source, `${name}.conf`), "utf8")).toContain(`server_name: sagamesh-${name}`);
    expect(common).toContain(`"nats-route://${name}:6222"`);
  }
});
