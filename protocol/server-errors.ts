/** Server errors: the rows of the table of codes (errors.ts) that are about the NATS server. */

/** What a code means, whether the same call may succeed later, and the remedy. */
export interface ErrorRow {
  readonly meaning: string;
  readonly retriable: boolean;
  readonly remedy: string;
}

/** The rows, by code. */
export const serverErrors = {
  UNAVAILABLE: {
    meaning: "the NATS server did not answer",
    retriable: true,
    remedy: "Check that it runs and that NATS_URL names it.",
  },
  WRONG_SEQUENCE: {
    meaning: "the ledger has moved since it was read",
    retriable: false,
    remedy: "Nothing is to be done: the host reads the ledger again and decides anew.",
  },
  WRITE_IN_FLIGHT: {
    meaning: "another write to this subject is in flight",
    retriable: true,
    remedy: "Nothing is to be done: the host sends the append again.",
  },
  DUPLICATE_IN_FLIGHT: {
    meaning: "a message with this id is being stored",
    retriable: true,
    remedy: "Nothing is to be done: the sender sends the message again.",
  },
  STORAGE_FULL: {
    meaning: "the server stores no more: its disk is full, or a limit is reached",
    retriable: true,
    remedy:
      "Free space on the server's disk and restart it, or raise the limit that the message names; `sagamesh doctor` says which.",
  },
  STORAGE_RESERVED: {
    meaning: "little is left to store in, and that is kept for what runs: nothing new is begun",
    retriable: true,
    remedy:
      "Free space, or raise the limit that the message names: `sagamesh archive` moves ended sagas to files. What runs goes on, and may be answered and cancelled.",
  },
  SERVER_TOO_OLD: {
    meaning: "the NATS server is older than 2.14.5",
    retriable: false,
    remedy: "Unset NATS_URL to let sagamesh run its own, or upgrade the server.",
  },
  SERVER_MISCONFIGURED: {
    meaning: "the server did not take the stream configuration",
    retriable: false,
    remedy: "Enable JetStream, or remove the foreign stream named in the message.",
  },
  MESH_INCOMPLETE: {
    meaning: "a stream that the mesh cannot forget is gone, or is not the one that it was",
    retriable: true,
    remedy:
      "Restore the stream, or follow the message: `sagamesh doctor` says what is missing, and `sagamesh rebuild` makes it anew.",
  },
  MESH_RESTORED: {
    meaning:
      "the mesh's ledger ends before what was counted of it: it lost its end, or an older copy was put back",
    retriable: true,
    remedy:
      "`sagamesh restored` says what may have begun beyond it; with --yes that is not repeated, and hosts and workers that wait go on by themselves.",
  },
  LEDGER_BEHIND: {
    meaning:
      "a ledger ends before a turn that is known of elsewhere: its last turns were lost, or an older copy of it was restored",
    retriable: false,
    remedy:
      "The saga goes on from what its ledger has, and what is known to have been begun beyond that is in doubt and not repeated: see `sagamesh tasks`. `sagamesh verify --all` names what else is ahead of its ledger.",
  },
  MESH_MIXED: {
    meaning: "streams of two meshes stand side by side",
    retriable: false,
    remedy: "Put back the stream of this mesh, or remove the other; `sagamesh doctor` names them.",
  },
  SERVER_MISSING: {
    meaning: "no nats-server could be found or got",
    retriable: false,
    remedy: "Install nats-server 2.14.5 or newer on the PATH, or set NATS_URL.",
  },
  SERVER_REFUSED: {
    meaning: "the server refused the request",
    retriable: false,
    remedy: "Read the server's words in the message; `sagamesh doctor` shows how the server is set up.",
  },
} as const satisfies Record<string, ErrorRow>;
