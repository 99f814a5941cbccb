/**
 * Schema for PostgreSQL: the tables of schema.ts in its words. Made of the same text, so that they cannot part.
 *
 * UI1 Texts are compared byte by byte, as SQLite does: times, ids and the beginnings of names are in the same order in both.
 * UI2 What the examples say of time, `date('now', '-1 day')` and `datetime`, is there: the same question is answered by both.
 */
import { sha256 } from "../../protocol/digest.ts";
import { publicSql, schemaVersion } from "./schema.ts";

/** How each type is called here. */
const types: Readonly<Record<string, string>> = {
  text: `text collate "C"`, // UI1
  integer: "bigint",
  real: "double precision",
};

/** Lines that stand for others. */
const lines: readonly (readonly [RegExp, string])[] = [
  [/^ {2}id integer primary key,.*$/, "  id bigint generated always as identity primary key,"],
  [
    /^ {2}text text( +--.*)$/,
    "  text text,$1\n  words tsvector generated always as (to_tsvector('simple', coalesce(text, ''))) stored -- where words @@ websearch_to_tsquery('simple', 'refund')",
  ],
  [/^create virtual table words .*$/, "create index messages_words on messages using gin (words);"],
  [/^\) without rowid;$/, ");"],
];

/** What people and programs may ask for, as `publicSql`. */
export const publicPostgresSql = publicSql
  .split("\n")
  .map((line) => lines.reduce((text, [from, to]) => text.replace(from, to), line))
  .map((line) => {
    const [, said = "", comment = ""] = /^(.*?)(\s--.*)?$/s.exec(line) ?? [];
    return (
      said.replace(
        /\b(\w+) (text|integer|real)\b/g,
        (_, name: string, type: string) => `${name} ${types[type]}`,
      ) + comment
    );
  })
  .join("\n");

/** UI2: a moment in UTC as a text, changed by an interval such as `-1 day`. */
const momentSql = (name: string, format: string): string => `
create function "${name}"(moment text, change text) returns text language sql stable as $$
  select to_char((case moment when 'now' then now() at time zone 'utc' else moment::timestamp end) + change::interval, '${format}')
$$;
create function "${name}"(moment text) returns text language sql stable as $$ select "${name}"(moment, '0 days') $$;`;

/** All of it, what only who fills the tables needs as well. */
export const postgresSql = `${publicPostgresSql}
${momentSql("date", "YYYY-MM-DD")}
${momentSql("datetime", "YYYY-MM-DD HH24:MI:SS")}
create table heads (saga text collate "C" primary key, shard bigint, turn bigint, seq bigint, hash text, archived bigint, fault text);
create index heads_fault on heads (fault) where fault is not null;
create table places (shard bigint primary key, through bigint, seq bigint, saga text, hash text);
create table facts (name text primary key, value text);
`;

/** The schema of a mesh's tables in a database of several; another version of them has another one. */
export const schemaOf = (meshId: string): string =>
  `sagamesh_v${schemaVersion}_${/^[a-z0-9_]{1,40}$/.test(meshId) ? meshId : sha256(meshId).slice(0, 32)}`;
