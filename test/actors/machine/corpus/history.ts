/** History states: shallow, deep, in parallel states, with and without a default. */
import { assign, createMachine, setup } from "xstate";
import { toActors } from "../../../../actors/machine/callable.ts";
import type { CorpusCase } from "../../../support/machine-driver.ts";
import { tool } from "./callables.ts";

const page = (next: string) => ({
  initial: "empty",
  states: { empty: { on: { fill: "filled" } }, filled: { on: { clear: "empty" } } },
  on: { next },
});

export const wizard: CorpusCase = {
  name: "a wizard that returns to the page, not to its detail (shallow history)",
  machine: setup({}).createMachine({
    id: "wizard",
    initial: "pages",
    states: {
      pages: {
        initial: "one",
        states: { one: page("two"), two: page("three"), three: page("one"), back: { type: "history" } },
        on: { help: "help", finish: "finished" },
      },
      help: { on: { close: "pages.back", restart: "pages" } },
      finished: { type: "final" },
    },
  }),
  events: ["next", "fill", "clear", "help", "close", "restart", "finish"].map((type) => ({ type })),
};

export const player: CorpusCase = {
  name: "a player that resumes each region in its detail, and its invocation (deep history)",
  machine: setup({ actors: toActors({ tool }), types: { context: {} as { resumed: number } } }).createMachine(
    {
      id: "player",
      initial: "off",
      context: { resumed: 0 },
      states: {
        off: {
          on: {
            power: { target: "on.last", actions: assign({ resumed: ({ context }) => context.resumed + 1 }) },
          },
        },
        on: {
          type: "parallel",
          on: { power: "off" },
          states: {
            last: { type: "history", history: "deep" },
            track: {
              initial: "stopped",
              states: {
                stopped: { on: { play: "playing" } },
                playing: {
                  initial: "loading",
                  states: {
                    loading: {
                      tags: "loading",
                      invoke: {
                        id: "load",
                        src: "tool",
                        onDone: "sounding",
                        onError: "#player.on.track.stopped",
                      },
                    },
                    sounding: { after: { 50: "#player.on.track.stopped" }, on: { play: "loading" } },
                  },
                },
              },
            },
            volume: {
              initial: "normal",
              states: {
                normal: { on: { mute: "muted" } },
                muted: {
                  initial: "soft",
                  states: {
                    soft: { on: { mute: "hard" } },
                    hard: { on: { mute: "#player.on.volume.normal" } },
                  },
                },
              },
            },
          },
        },
      },
    },
  ),
  events: [
    "power",
    "power",
    "play",
    "mute",
    "done:load",
    "error:load",
    "late:load",
    "advance:20",
    "advance:60",
  ].map((type) => ({ type })),
};

export const nested: CorpusCase = {
  name: "histories within histories, one with a default target",
  machine: setup({}).createMachine({
    id: "nested",
    initial: "away",
    states: {
      away: { on: { shallow: "home.recent", deep: "home.exact", fallback: "home.recent" } },
      home: {
        initial: "hall",
        on: { leave: "away" },
        states: {
          recent: { type: "history", history: "shallow", target: "kitchen" },
          exact: { type: "history", history: "deep" },
          hall: { on: { go: "kitchen" } },
          kitchen: {
            initial: "door",
            on: { go: "hall", sofa: "kitchen.rest" },
            states: {
              rest: { type: "history" },
              door: { on: { enter: "table" } },
              table: {
                initial: "standing",
                states: { standing: { on: { enter: "sitting" } }, sitting: { on: { enter: "standing" } } },
              },
            },
          },
        },
      },
    },
  }),
  events: ["shallow", "deep", "fallback", "leave", "go", "enter", "sofa"].map((type) => ({ type })),
};

const resting = (target: string) => ({
  target,
  guard: ({ context }: { context: { n: number } }) => context.n < 4,
  actions: assign({ n: ({ context }: { context: { n: number } }) => context.n + 1 }),
});

/** XState itself leaves it so: `left` is no active state, and its own state is. A random machine's shape, seed 541932950. */
export const hollow: CorpusCase = {
  name: "a parallel state that an always to a history never visited leaves without one of its regions",
  machine: createMachine({
    id: "hollow",
    initial: "both",
    context: { n: 0 },
    states: {
      both: {
        id: "both",
        type: "parallel",
        always: resting("#both"),
        states: {
          left: {
            initial: "one",
            states: {
              one: { always: resting("#past"), on: { go: "two" } },
              two: { on: { go: "one" } },
              past: { id: "past", type: "history" },
            },
          },
          right: { on: { more: { actions: assign({ n: 0 }) } } },
        },
      },
    },
  } as never),
  events: [{ type: "go" }, { type: "more" }],
};
