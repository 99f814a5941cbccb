/**
 * A nats-server from Debian's next release, unpacked beside the system and not installed.
 *
 * Owns: a private apt, which reads a newer suite from the mirror this system already uses. The package needs
 * nothing but a C library that every supported Debian has.
 *
 * DB1 The system's apt sees none of it: sources, lists, cache and status are in the work folder.
 * DB2 Trust stays the system's: the same keys decide, and an unsigned suite is refused.
 */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MeshError } from "../../../protocol/errors.ts";
import { findOnPath, runCommand } from "./command.ts";
import { withProgress } from "../progress.ts";
import type { ServerWay, WayContext } from "./way.ts";

const suites = ["forky", "sid"];
const askTimeoutMs = 15_000;
const fetchTimeoutMs = 5 * 60_000;

export const debianWay: ServerWay = {
  name: "Debian package",
  get: async (context) => {
    const { workDir, report } = context;
    await assertDebian(context);
    const mirror = await findMirror(context);
    const options = await createPrivateApt(workDir, mirror);
    report(`Fetching Debian's nats-server package (${suites.join(" or ")}); nothing is installed.`);
    const line = (seconds: number) => `  apt at work: ${seconds} s`;
    await withProgress(report, line, async () => {
      await run(context, "apt-get", [...options, "update"]);
      await run(context, "apt-get", [...options, "download", "nats-server"]);
    });
    const file = (await readdir(workDir)).find((name) => name.endsWith(".deb"));
    if (file === undefined) throw new Error("apt-get download left no package");
    const tree = join(workDir, "tree");
    await run(context, "dpkg", ["-x", join(workDir, file), tree]);
    const found = (await readdir(tree, { recursive: true })).find((path) => /bin\/nats-server$/.test(path));
    if (found === undefined) throw new Error("the package holds no nats-server");
    return join(tree, found);
  },
};

const assertDebian = async ({ env }: WayContext): Promise<void> => {
  const release = await readFile("/etc/os-release", "utf8").catch(() => "");
  if (!/^ID="?debian"?$/m.test(release)) throw notHere("this system is not Debian");
  for (const tool of ["apt-get", "dpkg"])
    if ((await findOnPath(tool, env)).length === 0) throw notHere(`there is no ${tool} on the PATH`);
};

/** The mirror of the main archive, as the system's own sources name it. */
const findMirror = async (context: WayContext): Promise<string> => {
  const format = "$(CREATED_BY) $(REPO_URI) $(RELEASE) $(COMPONENT)";
  const targets = await run(context, "apt-get", ["indextargets", "--format", format], askTimeoutMs);
  for (const target of targets.split("\n")) {
    const [kind, uri, suite, component] = target.split(" ");
    const isMain = kind === "Packages" && component === "main" && uri?.endsWith("/debian/");
    if (isMain && suite !== undefined && !suite.includes("-")) return uri!;
  }
  throw notHere("the system's sources name no mirror of Debian's main archive");
};

/** Writes the private apt's folders and gives the options that make apt-get use them. */
const createPrivateApt = async (workDir: string, mirror: string): Promise<string[]> => {
  const folder = (name: string) => join(workDir, "apt", name);
  await mkdir(join(folder("state"), "lists", "partial"), { recursive: true });
  await mkdir(join(folder("cache"), "archives", "partial"), { recursive: true });
  await mkdir(folder("no-parts"), { recursive: true });
  const sources = suites.map((suite) => `deb ${mirror} ${suite} main\n`).join("");
  await writeFile(folder("sources.list"), sources);
  await writeFile(folder("status"), "");
  const settings = {
    "Dir::State": folder("state"),
    "Dir::State::status": folder("status"),
    "Dir::Cache": folder("cache"),
    "Dir::Etc::SourceList": folder("sources.list"),
    "Dir::Etc::SourceParts": folder("no-parts"),
    "Dir::Etc::PreferencesParts": folder("no-parts"),
    "Dir::Etc::Preferences": "-",
    "Acquire::Languages": "none",
    "Acquire::Retries": "0",
    "Acquire::http::Timeout": "5",
    "Acquire::https::Timeout": "5",
    "APT::Update::Error-Mode": "any",
    // The download user of apt cannot enter a private folder of another user.
    "APT::Sandbox::User": process.getuid?.() === 0 ? "root" : "",
  };
  return Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
};

const run = (
  context: WayContext,
  file: string,
  args: string[],
  timeoutMs = fetchTimeoutMs,
): Promise<string> =>
  runCommand({
    file,
    args,
    env: { ...context.env, LC_ALL: "C" },
    timeoutMs,
    cwd: context.workDir,
    signal: context.signal,
  });

const notHere = (reason: string): MeshError =>
  new MeshError("SERVER_MISSING", reason, { remedy: "This way is for Debian with apt; use another." });
