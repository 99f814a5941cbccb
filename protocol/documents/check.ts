/**
 * Check documents: what a machine of plain XState needs to be a saga.
 */
import { z } from "zod";

/** `ready`: it is a saga as it is. `wrap`: it needs a word about each effect, and no change. `change`: its own file must change. */
export const CheckVerdict = z.enum(["ready", "wrap", "change"]);

/** One step of a machine that was played with invented results: what it was sent, and the states it came through. */
export const PlayedStep = z.object({
  /** A signal's name, `start`, or `time` where a timer was waited for. */
  sent: z.string(),
  /** State values in their order; it rests in the last. What an `always` leaves at once is not seen. */
  states: z.array(z.json()),
  /** Tools that were called meanwhile; `fails` after those whose invented result was an error. */
  called: z.array(z.string()).optional(),
  /** How it ended, if it had. */
  ended: z.string().optional(),
});
export type PlayedStep = z.infer<typeof PlayedStep>;

/** What one machine needs, in the order in which it is done. */
export const MachineCheck = z.object({
  /** The name under which its file exports it; absent if it does not. */
  export: z.string().optional(),
  id: z.string(),
  verdict: CheckVerdict,
  /** Promises and machines: bound from outside, each by a word. `called` is the name of the tool that comes of it. */
  effects: z.array(
    z.object({
      name: z.string(),
      kind: z.enum(["promise", "machine"]),
      called: z.string(),
      where: z.array(z.string()),
    }),
  ),
  /** Functions of the author's own: `log` if they only print, else a tool. */
  actions: z.array(
    z.object({
      name: z.string(),
      as: z.enum(["log", "tool"]),
      called: z.string(),
      where: z.array(z.string()),
    }),
  ),
  /** What the outside sends. `members` are those that the machine's functions read of the event. */
  signals: z.array(z.object({ name: z.string(), where: z.array(z.string()), members: z.array(z.string()) })),
  /** Members that its functions read of the input. */
  input: z.array(z.string()),
  /** Timers: milliseconds where they are known, else the delay's name. */
  timers: z.array(z.object({ where: z.string(), delay: z.union([z.number(), z.string()]) })),
  /** Delays that nothing declares and that their names tell, in milliseconds: `PT2W`. */
  delays: z.record(z.string(), z.number()),
  /** Functions of the fold that read the outside, by their text. */
  impure: z.array(z.object({ where: z.string(), asks: z.array(z.string()), instead: z.string() })),
  /** What must be changed in the machine's own text, each a sentence with its place. */
  changes: z.array(z.string()),
  /** The machines in it that become sagas of their own. */
  machines: z.array(z.object({ name: z.string(), id: z.string(), verdict: CheckVerdict })),
  /** `--run`: the walks through it, and the states that none of them reached. */
  walks: z.array(z.array(PlayedStep)).optional(),
  unreached: z.array(z.string()).optional(),
  /** `--run`: what stopped it. */
  stopped: z.string().optional(),
});
export type MachineCheck = z.infer<typeof MachineCheck>;

/** `check`: a file's machines. */
export const CheckDocument = z.object({
  file: z.string(),
  /** What is to be changed in the file besides its machines. */
  changes: z.array(z.string()),
  machines: z.array(MachineCheck),
  /** `--write`: the file that was written. */
  written: z.string().optional(),
});
export type CheckDocument = z.infer<typeof CheckDocument>;
