/**
 * Crew: `sagamesh host` and `worker` as a person starts them, each started again when it has died, and what they and their
 * children logged.
 */
import { type RunningCli, runCli, startCli } from "./cli.ts";
import { openRealMesh, type RealMesh } from "./real-mesh.ts";

interface Kept {
  /** How those ended that nobody killed here. */
  readonly deaths: string[];
  /** Everything they and their children logged. */
  log(): Record<string, unknown>[];
  kill(): void;
  stop(): Promise<void>;
}

/** What they serve, and what they are told beside it. */
interface Served {
  /** The application's. */
  readonly file: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface CrewOptions extends Served {
  /** What is done before they start. */
  readonly before?: (mesh: RealMesh) => Promise<void>;
}

/** Keeps one process of the role running, whatever it dies of. */
async function keep(role: "host" | "worker", mesh: RealMesh, { file, env = {} }: Served): Promise<Kept> {
  const deaths: string[] = [];
  const logs: string[] = [];
  let present: RunningCli;
  let killed: RunningCli | undefined;
  let stopping = false;
  const begin = (): RunningCli => {
    const cli = startCli([role, "--app", file, "--server", mesh.url, "--json"], {
      env: { NODE_OPTIONS: "--max-old-space-size=96", LOG_LEVEL: "info", ...env },
    });
    cli.process.stderr?.on("data", (text: string) => logs.push(text));
    void cli.ended.then(({ signal, code }) => {
      if (stopping) return;
      if (cli !== killed) deaths.push(String(signal ?? code));
      present = begin();
    });
    return cli;
  };
  present = begin();
  await present.says('"role"');
  return {
    deaths,
    log: () =>
      logs
        .join("")
        .split("\n")
        .filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    kill: () => {
      killed = present;
      present.process.kill("SIGKILL");
    },
    stop: async () => {
      stopping = true;
      present.process.kill("SIGKILL");
      await present.ended;
    },
  };
}

interface Crew {
  readonly mesh: RealMesh;
  readonly crew: readonly Kept[];
  deaths(): string[];
  /** What the logs say of this event. */
  said(event: string): Record<string, unknown>[];
}

/** Keeps processes of these roles on a mesh of their own while the work lasts. */
export async function crewOn(
  url: string,
  roles: readonly ("host" | "worker")[],
  { before, ...served }: CrewOptions,
  work: (of: Crew) => Promise<void>,
): Promise<void> {
  const mesh = await openRealMesh(url);
  await before?.(mesh);
  const crew = await Promise.all(roles.map((role) => keep(role, mesh, served)));
  try {
    await work({
      mesh,
      crew,
      deaths: () => crew.flatMap(({ deaths }) => deaths),
      said: (event) => crew.flatMap((one) => one.log()).filter(({ msg }) => msg === event),
    });
  } finally {
    await Promise.all(crew.map((one) => one.stop()));
    await mesh.close();
  }
}

export const died = "child process died with a suspect";

/** By suspect, how many children died that had nothing else. One that had others proves nothing, and is no victim. */
export function victimsOf(deaths: readonly Record<string, unknown>[]): Record<string, number> {
  const victims: Record<string, number> = {};
  for (const { suspect, wasAlone } of deaths)
    if (wasAlone === true) victims[String(suspect)] = (victims[String(suspect)] ?? 0) + 1;
  return victims;
}

/** The letters as a person sees them: of each one the whole, by its number. */
export async function lettersOf(mesh: RealMesh): Promise<string[]> {
  const { stdout } = await runCli(["dead", "ls", "--server", mesh.url, "--json"]);
  const numbers = [...stdout.matchAll(/"letter":\s*(\d+)/g)].map(([, seq]) => seq ?? "");
  const shown = numbers.map((seq) => runCli(["dead", "show", seq, "--server", mesh.url]));
  return (await Promise.all(shown)).map((one) => one.stdout);
}

/** Undefined: it has no ledger yet. */
export const statusOf = async (mesh: RealMesh, saga: string): Promise<string | undefined> =>
  (await mesh.head(saga)) === 0 ? undefined : (await mesh.view(saga)).status;
