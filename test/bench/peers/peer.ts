/**
 * A peer: a product that the same work is measured on, sagamesh among them.
 *
 * Each is two processes of ours, and the servers that it needs: an `app`, which runs the workflows as the product's users
 * run them and notes when effects begin, and a `client`, which starts, waits and signals. Of a product that is a library in
 * the application's process the app is the client, too.
 */
import type { ChildProcess } from "node:child_process";
import type { Sync } from "../bench-mesh.ts";

export const caseNames = ["one", "many", "fan", "signal", "kill", "resume", "crowd", "talk"] as const;
export type CaseName = (typeof caseNames)[number];

export interface Peer {
  readonly name: string;
  /** What is installed from the package registry, each with its exact version. */
  readonly packages: readonly string[];
  /** Packages of which it gets another version than it would by itself. */
  readonly instead?: Readonly<Record<string, string>>;
  /** How it is set up, in a sentence. */
  readonly about: string;
  /** What has happened when a step counts as done. */
  readonly durability: Readonly<Record<Sync, string>>;
  /** What it cannot do, and why. */
  readonly cannot: Partial<Readonly<Record<CaseName, string>>>;
  /** Steps, of which the figure is one, and rounds where as many as the others' would take an hour. */
  readonly fewer?: { readonly one?: number; readonly each?: number; readonly rounds: number };
  /** After a restart the application asks for each saga that was running (`again`); else it goes on by itself. */
  readonly asksForItself?: true;
  /** Gets what the package registry does not have. Resolves to what it got, for the table of versions. */
  prepare?(folder: string, say: (text: string) => void): Promise<string>;
  /** Starts what it needs beside its own processes. */
  start(place: Place): Promise<Servers>;
}

/** Where a peer runs. */
export interface Place {
  /** Its own `node_modules` are here. */
  readonly folder: string;
  /** Empty, its alone, and gone afterwards. */
  readonly data: string;
  readonly sync: Sync;
}

export interface Servers {
  /** Those whose memory counts as the servers', with all that they started. */
  readonly pids: readonly number[];
  readonly app: Command;
  /** Absent where the app is the client. */
  readonly client?: Command;
  /** Once an app is ready, the first time. */
  introduce?(): Promise<void>;
  /** Bytes that it keeps. */
  stored(): Promise<number>;
  stop(): Promise<void>;
}

/** A process of Node that calls `serve` of measured.ts. */
export interface Command {
  readonly file: string;
  readonly args?: readonly string[];
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A process that answers. */
export interface Asked {
  readonly child: ChildProcess;
  /** Throws what it threw, that it ended, or that it did not answer in time. */
  ask<T>(call: string, args?: unknown, withinMs?: number): Promise<T>;
  /** Kills it; resolves when it is gone. */
  kill(): Promise<void>;
}
