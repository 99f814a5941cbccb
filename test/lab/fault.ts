/** Fault: one thing that is done to a mesh, what an operator then does, and the stage on which it is done. */
import type { Crew, Member } from "../chaos/crew.ts";
import type { Servers } from "../chaos/servers.ts";

/** What a fault and its operator have in their hands. */
export interface Stage {
  readonly size: 1 | 3;
  /** Where the logs and the servers' stores are. */
  readonly folder: string;
  readonly servers: Servers;
  readonly crew: Crew;
  readonly hosts: readonly Member[];
  readonly workers: readonly Member[];
  /** Ends with the run, whatever happens. */
  readonly ends: AsyncDisposableStack;
  /** `sagamesh` as an operator runs it; its exit code. What it says goes to `operator.log`. */
  operate(...words: string[]): Promise<number>;
  /** The `nats` command line on this mesh. Throws where it ends with an error. */
  nats(...words: string[]): Promise<string>;
  tell(line: string): void;
}

export interface Fault {
  /** As the command line and the table name it. */
  readonly name: string;
  /** What is done, for a reader of the table. */
  readonly does: string;
  /** On how many servers it makes sense. Default both. */
  readonly sizes?: readonly (1 | 3)[];
  /** Why this machine cannot make it; undefined where it can. */
  readonly lacks?: (size: 1 | 3) => Promise<string | undefined>;
  /** How hosts, workers and servers are started for it. */
  readonly raise?: {
    readonly first?: readonly string[];
    readonly environmentOf?: (folder: string, name: string) => Readonly<Record<string, string>>;
    readonly extraConfig?: string;
    /** Done before servers start; what it gives undoes it. */
    readonly before?: (folder: string) => Promise<() => Promise<void>>;
  };
  /** Some seconds before the blow, under load. */
  readonly prepare?: (stage: Stage) => Promise<void>;
  readonly strike: (stage: Stage) => Promise<void>;
  /** What an operator does some seconds later, as the runbook and doctor say. Absent: nothing. */
  readonly remedy?: (stage: Stage) => Promise<void>;
  /** The same in a word, for the table. */
  readonly remedyIs?: string;
  /** What such a fault takes with it that no process can know of. Default: nothing. */
  readonly takes?: readonly Loss[];
}

/** `sagas`: their ledgers; `turns`: the last ones of ledgers; `inputs`: what no host had taken yet. */
export type Loss = "sagas" | "turns" | "inputs";
