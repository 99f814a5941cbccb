/**
 * Ward: one child process and the suspects in it.
 *
 * WD1 It dies by itself or is ended by us, never both: what is ended, or ends excused, proves nothing.
 * WD2 Whether it ever had more than one suspect is what its death proves something by.
 * WD3 A child that says nothing for half a minute hangs, which is as good as dead.
 */
import { limits } from "../../protocol/limits.ts";
import type { Clock } from "../wire/ports.ts";
import type { FromChild, Isolate, IsolatedChild, ToChild } from "./child.ts";

/** How the stay of a suspect ended. `gone`: the child was ended, or could not serve. */
export type Stay =
  | { readonly type: "survived" }
  | { readonly type: "died"; readonly wasAlone: boolean; readonly pid: number; readonly how: string }
  | { readonly type: "gone"; readonly reason: string };

/** A suspect in a ward. */
export interface Guest {
  readonly key: string;
  hear(message: Extract<FromChild, { key: string }>): void;
  over(stay: Stay): void;
}

/** One child process, as its guests see it. */
export interface Ward {
  /** Undefined once it is over, and the guest has heard so. */
  admit(guest: Guest): Promise<void>;
  send(message: ToChild): void;
  discharge(guest: Guest): void;
  /** The parent's beat. */
  beat(): void;
  end(): void;
  isOver(): boolean;
}

/** Starts a child process. A start that fails ends the stay of all its guests as `gone`. */
export function openWard(clock: Clock, isolate: Isolate): Ward {
  const guests = new Map<string, Guest>();
  const everIn = new Set<string>();
  let child: IsolatedChild | undefined;
  let silentBeats = 0;
  let over = false;
  let excuse: string | undefined;
  let callOffEnd: (() => void) | undefined;

  const close = (stay: Stay) => {
    if (over) return;
    over = true;
    const all = [...guests.values()];
    guests.clear();
    for (const guest of all) guest.over(stay);
  };
  const end = (reason: string) => {
    child?.end();
    close({ type: "gone", reason });
  };
  const hear = (message: FromChild) => {
    silentBeats = 0;
    if (message.type === "excused") excuse = message.reason;
    else if (message.type !== "alive") guests.get(message.key)?.hear(message);
  };
  const started = isolate(hear).then(
    (one) => {
      child = one;
      if (over) return one.end(); // WD1: ended while it started.
      void one.ended.then((how) =>
        close(
          excuse === undefined
            ? { type: "died", wasAlone: everIn.size === 1, pid: one.pid, how } // WD2
            : { type: "gone", reason: excuse },
        ),
      );
    },
    (error: unknown) => close({ type: "gone", reason: String(error) }),
  );

  return {
    isOver: () => over,
    admit: async (guest) => {
      callOffEnd?.();
      callOffEnd = undefined;
      if (over) return guest.over({ type: "gone", reason: "it was over already" });
      guests.set(guest.key, guest);
      everIn.add(guest.key);
      await started;
    },
    send: (message) => {
      if (!over) child?.send(message);
    },
    discharge: (guest) => {
      if (guests.get(guest.key) === guest) guests.delete(guest.key);
      // What comes next may be a suspect, too: one process start less.
      if (guests.size === 0 && !over)
        callOffEnd = clock.after(limits.lingerMs, () => end("no suspect is in it"));
    },
    beat: () => {
      if (over || child === undefined) return;
      child.send({ type: "beat" });
      silentBeats += 1;
      if (silentBeats > limits.childSilentBeatsMax) child.end(); // WD3: counted as its own death.
    },
    end: () => end("its parent ends it"),
  };
}
