/**
 * Mesh: what hosts, queues, tools and the server look like now, by the doctor's own look, and what was set aside.
 *
 * BW1 One look serves all who ask within a while: a look reads of up to a thousand sagas.
 */
import type { DoctorDocument } from "../../protocol/documents/doctor.ts";
import type { LetterDocument } from "../../protocol/documents/letter.ts";
import {
  dropLetter,
  type Letter,
  readLetter,
  readLetters,
  retryLetter,
  sagaOfLetter,
} from "../client/dead.ts";
import type { ClientDeps } from "../client/send.ts";
import { livingHosts } from "../deployments/served.ts";
import { standingOf } from "../throttle/standing.ts";
import type { MeshDocument } from "./documents.ts";

/** Looks at the mesh as `sagamesh doctor` does. What cannot be reached is a finding. */
export type Examine = () => Promise<DoctorDocument>;

export interface MeshTeller {
  /** As it is now, or was a few seconds ago. Throws UNAVAILABLE. */
  mesh(): Promise<MeshDocument>;
  /** Throws LETTER_UNKNOWN. */
  letter(seq: number): Promise<LetterDocument>;
  /** Sends a letter's message again as it was, or throws it away. Throws LETTER_UNKNOWN, SAGA_ID_TAKEN, UNAVAILABLE. */
  settle(seq: number, how: "retry" | "drop"): Promise<void>;
}

/** BW1. How long a look is shown. Milliseconds. */
const lookedForMs = 3_000;
/** The newest that are shown: whoever has more of them sends them again by their code, on the command line. */
const lettersMax = 200;

export function createMeshTeller(deps: ClientDeps, examine: Examine): MeshTeller {
  const { ports, clock } = deps;
  let looked: { readonly at: number; readonly document: Promise<MeshDocument> } | undefined;
  const look = async (): Promise<MeshDocument> => {
    const [doctor, letters, hosts, throttles, now] = await Promise.all([
      examine(),
      readLetters(deps),
      livingHosts(ports.membership),
      ports.throttles.list(),
      ports.claims.now(),
    ]);
    return {
      at: clock.now(),
      doctor,
      serving: hosts.map(({ host, draining, serves }) => ({
        host,
        draining,
        serves: serves.map(({ name, version, hash }) => ({ name, version, hash })),
      })),
      throttles: standingOf(throttles, now),
      letters: letters.slice(-lettersMax).reverse().map(documentOf),
      lettersInAll: letters.length,
    };
  };
  return {
    mesh: () => {
      if (looked !== undefined && clock.elapsed() - looked.at < lookedForMs) return looked.document;
      const one = { at: clock.elapsed(), document: look() };
      looked = one;
      one.document.catch(() => {
        if (looked === one) looked = undefined; // The next who asks looks anew.
      });
      return one.document;
    },
    letter: async (seq) => {
      const letter = await readLetter(deps, seq);
      return { ...documentOf(letter), headers: letter.headers, body: bodyOf(letter) };
    },
    settle: async (seq, how) => {
      const letter = await readLetter(deps, seq);
      await (how === "retry" ? retryLetter : dropLetter)(deps, letter);
      looked = undefined;
    },
  };
}

const bodyMax = 20_000;

/** Its beginning, where it is long: the command line has it whole. */
function bodyOf({ data }: Letter): string {
  const text = Buffer.from(data).toString();
  return text.length <= bodyMax ? text : `${text.slice(0, bodyMax).toWellFormed()}…`;
}

function documentOf(letter: Letter): LetterDocument {
  const { seq, source, subject, code, reason, at } = letter;
  const saga = sagaOfLetter(letter);
  return { letter: seq, source, subject, code, reason, at, ...(saga === undefined ? {} : { saga }) };
}
