/**
 * Schema: the tables of a mesh, as SQL reads them. What each column says stands beside it, and in the database itself, for SQLite
 * keeps a table's text as it was written.
 *
 * Times are UTC as `YYYY-MM-DD HH:MM:SS.SSS`, which SQLite's `date`, `datetime` and `strftime` read and texts compare. Dollars and
 * tokens are numbers. What is not known, or does not apply, is null.
 *
 * BD1 A change of any table is another version: a database of another version has another name, and is filled anew.
 */

/** Of the tables below. */
export const schemaVersion = 1;

/** A table of which rows are written and taken away by saga; the first columns are its key. */
interface TableShape {
  readonly key: readonly string[];
  readonly columns: readonly string[];
}

/** What people and programs may ask for. */
export const publicSql = `
create table sagas (            -- one row a saga
  saga text primary key,
  agent text,                   -- the name of its definition
  version integer,              -- of the definition
  hash text,                    -- of the definition
  status text,                  -- running, completed, failed, cancelled; unreadable: see fault
  started text,
  updated text,                 -- its last turn
  ended text,                   -- the turn of its last end
  turns integer,
  cost real,                    -- dollars, of itself and of all below it that have ended
  usd real,                     -- dollars, of itself: sums over sagas add this
  tokens integer,               -- of itself, in and out, cached ones too
  input_tokens integer,
  output_tokens integer,
  model_calls integer,          -- attempts of calls of models
  tool_calls integer,
  children integer,             -- sagas that it began
  error text,                   -- the code with which it ended, where there is one
  reason text,                  -- why it ended so
  parent text,                  -- the saga that started it, as the intent below
  parent_intent text,
  root text,                    -- the first of its tree; itself where it has no parent
  depth integer,                -- 0: it has no parent
  fork_of text,                 -- the saga that it was forked from, after the turn below
  fork_turn integer,
  open integer,                 -- intents that are open, its end aside
  asks integer,                 -- tasks of them, which ask people
  in_doubt integer,             -- calls whose end is not known
  paused text,                  -- since when
  flags integer,                -- that no resume has acknowledged
  archived text,                -- the file that its turns were moved to
  whole integer,                -- 1; 0: archived, and of what it did only the end is known here
  fault text                    -- why its ledger cannot be read; the rest tells how far it could be
);
create index sagas_status on sagas (status, agent, started);
create index sagas_agent on sagas (agent, started, status, usd);
create index sagas_started on sagas (started);
create index sagas_updated on sagas (updated);
create index sagas_cost on sagas (cost, status);
create index sagas_error on sagas (error) where error is not null;
create index sagas_parent on sagas (parent) where parent is not null;

create table turns (            -- one row a turn
  saga text, turn integer,      -- from 1
  at text,
  host text,                    -- the incarnation that decided it
  took text,                    -- the events that it took in, such as 'result, signal'
  decided text,                 -- the intents that it decided, such as 'tool, model'; empty: none
  primary key (saga, turn)
) without rowid;

create table intents (          -- one row an intent: what a saga decided to do, and what became of it
  saga text, intent text,
  turn integer,                 -- that decided it
  at text,
  kind text,                    -- tool, model, saga, timer, task, signal, pause, denied, end
  name text,                    -- of the tool, model, definition, signal or refused call; of a task what it is about
  outcome text,                 -- open, succeeded, failed, denied, in_doubt, cancelled, superseded; null of an end
  code text,                    -- of a failure, a refusal or a doubt
  reason text,
  attempt integer,              -- the last one
  deferred integer,             -- 1: the outside answers it
  ended text,
  ended_turn integer,
  said_by text,                 -- the incarnation or person whose word the end was
  call text,                    -- the model's call that it is, as decision.place
  undoes text,                  -- the intent that it undoes
  serves text,                  -- the task that it serves
  other text,                   -- the child, or the saga that is written to
  due text,                     -- of a timer or a task
  key text,                     -- under which a tool is called
  input text,                   -- JSON; null where it is longer than 8,192 characters
  output text,                  -- JSON, likewise
  primary key (saga, intent)
) without rowid;
create index intents_name on intents (name, outcome);
create index intents_outcome on intents (outcome, kind);

create table effects (          -- one row an effect that stands, or stood until it was undone
  saga text, intent text,
  tool text,
  key text,
  outcome text,                 -- succeeded, in_doubt
  stands integer,               -- 1; 0: it was undone
  undone_by text,               -- an intent, or the task in which a person says so
  primary key (saga, intent)
) without rowid;
create index effects_tool on effects (tool, outcome, stands);

create table tasks (            -- one row a question to people
  saga text, intent text,
  about text,                   -- question, approval, doubt, stuck, budget
  question text,
  asked text,                   -- when
  whom text,                    -- names and roles, such as 'finance, ann'; empty: anybody
  due text,
  quorum integer,
  tool text,                    -- of the call that is asked about
  call text,                    -- the intent that is asked about
  digest text,                  -- of the exact arguments
  state text,                   -- open, or how it ended
  ended text,
  said_by text,
  votes integer,                -- so far
  primary key (saga, intent)
) without rowid;
create index tasks_state on tasks (state, due);

create table spending (         -- one row an attempt of a call of a model whose cost came in
  saga text, intent text, attempt integer,
  at text,
  day text,                     -- YYYY-MM-DD
  agent text,
  model text,
  input_tokens integer,         -- without those below
  cache_read_tokens integer,
  cache_write_tokens integer,
  output_tokens integer,
  usd real,
  inherited integer,            -- 1: a fork has it from its origin, which has paid it
  primary key (saga, intent, attempt)
) without rowid;
create index spending_day on spending (day, model, usd);

create table messages (         -- one row a text: what a saga was told, what models said, what tools gave, what people wrote
  id integer primary key,       -- the row of the same number of \`words\`
  saga text, turn integer,
  place integer,                -- in its turn, from 0
  at text,
  role text,                    -- start, signal, model, tool, saga, task, vote, end
  name text,                    -- of the signal, model, tool or definition; of a vote what it says
  who text,                     -- who said it
  text text                     -- a text, or JSON; after 16,384 characters there was more
);
create unique index messages_saga on messages (saga, turn, place);
create virtual table words using fts5(text, content='messages', content_rowid='id'); -- the texts' words: where words match 'refund'
create view errors as           -- what failed, was refused or is in doubt, and sagas that failed or cannot be read
  select saga, intent, at, kind, name, outcome, code, reason from intents where outcome in ('failed', 'denied', 'in_doubt')
  union all select saga, null, updated, 'saga', agent, status, error, coalesce(fault, reason) from sagas where status in ('failed', 'unreadable');
`;

/** What only who fills the tables needs. */
export const ownSql = `
create trigger messages_in after insert on messages begin
  insert into words (rowid, text) values (new.id, new.text);
end;
create trigger messages_out after delete on messages begin
  insert into words (words, rowid, text) values ('delete', old.id, old.text);
end;
create table heads (saga text primary key, shard integer, turn integer, seq integer, hash text, archived integer, fault text) without rowid;
create index heads_fault on heads (fault) where fault is not null;
create table places (shard integer primary key, through integer, seq integer, saga text, hash text);
`;

/** What the tables say of themselves; it stays while all else is emptied. */
export const factsSql = "create table facts (name text primary key, value text) without rowid;";

/** Takes away all but that. */
export const emptySql = `
drop view if exists errors;
drop table if exists words;
drop table if exists messages;
drop table if exists sagas;
drop table if exists turns;
drop table if exists intents;
drop table if exists effects;
drop table if exists tasks;
drop table if exists spending;
drop table if exists heads;
drop table if exists places;
`;

/** Rows by their table. A row of `messages` never changes. */
export const tables = {
  sagas: {
    key: ["saga"],
    columns: [
      ...[
        "saga",
        "agent",
        "version",
        "hash",
        "status",
        "started",
        "updated",
        "ended",
        "turns",
        "cost",
        "usd",
      ],
      ...["tokens", "input_tokens", "output_tokens", "model_calls", "tool_calls", "children", "error"],
      ...["reason", "parent", "parent_intent", "root", "depth", "fork_of", "fork_turn", "open", "asks"],
      ...["in_doubt", "paused", "flags", "archived", "whole", "fault"],
    ],
  },
  turns: { key: ["saga", "turn"], columns: ["saga", "turn", "at", "host", "took", "decided"] },
  intents: {
    key: ["saga", "intent"],
    columns: [
      ...["saga", "intent", "turn", "at", "kind", "name", "outcome", "code", "reason", "attempt", "deferred"],
      ...["ended", "ended_turn", "said_by", "call", "undoes", "serves", "other", "due", "key", "input"],
      "output",
    ],
  },
  effects: {
    key: ["saga", "intent"],
    columns: ["saga", "intent", "tool", "key", "outcome", "stands", "undone_by"],
  },
  tasks: {
    key: ["saga", "intent"],
    columns: [
      ...["saga", "intent", "about", "question", "asked", "whom", "due", "quorum", "tool", "call", "digest"],
      ...["state", "ended", "said_by", "votes"],
    ],
  },
  spending: {
    key: ["saga", "intent", "attempt"],
    columns: [
      ...["saga", "intent", "attempt", "at", "day", "agent", "model", "input_tokens", "cache_read_tokens"],
      ...["cache_write_tokens", "output_tokens", "usd", "inherited"],
    ],
  },
  messages: {
    key: ["saga", "turn", "place"],
    columns: ["saga", "turn", "place", "at", "role", "name", "who", "text"],
  },
} as const satisfies Readonly<Record<string, TableShape>>;

export type TableName = keyof typeof tables;
export const tableNames = Object.keys(tables) as readonly TableName[]; // Proof: its own keys.
