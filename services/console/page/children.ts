/** Children: the timelines of sagas that are open below their parents, read when they are opened and as they go on. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { TimelineDocument } from "../documents.ts";
import { get, Refusal } from "./api.ts";
import { merged } from "./happened.ts";
import { useLive, useSettled } from "./live.ts";
import { openIn, usePlace } from "./route.ts";

/** What is known of a child that is open; neither: it is being read. */
export interface Child {
  readonly timeline?: TimelineDocument;
  readonly error?: Refusal;
}

/** How soon what a child did is read after something was stored. Milliseconds. */
const againEveryMs = 1_500;

/** Of those that are open now, by saga. Nothing is read of any other. */
export function useChildren(): ReadonlyMap<string, Child> {
  const { query } = usePlace();
  const open = openIn(query);
  const [known, setKnown] = useState<ReadonlyMap<string, Child>>(new Map());
  const underWay = useRef(new Set<string>());
  const read = (saga: string, timeline: TimelineDocument | undefined): void => {
    if (underWay.current.has(saga)) return;
    underWay.current.add(saga);
    const base = `/sagas/${encodeURIComponent(saga)}/timeline`;
    get<TimelineDocument>(timeline === undefined ? base : `${base}?after=${timeline.turns}`)
      .then((news) => (timeline === undefined ? news : merged(timeline, news)))
      .then(
        (now) => setKnown((all) => new Map(all).set(saga, { timeline: now })),
        (error: unknown) => {
          if (error instanceof Refusal)
            setKnown((all) => new Map(all).set(saga, { ...all.get(saga), error }));
        },
      )
      .finally(() => underWay.current.delete(saga));
  };
  const names = [...open].join(",");
  useEffect(() => {
    for (const saga of open) read(saga, known.get(saga)?.timeline);
  }, [names]);
  const again = useSettled(() => {
    for (const saga of open) {
      const { timeline } = known.get(saga) ?? {};
      if (timeline?.status !== "running" && timeline !== undefined) continue;
      read(saga, timeline);
    }
  }, againEveryMs);
  useLive("moved", again);
  useLive("back", again);
  return useMemo(() => new Map([...open].map((saga) => [saga, known.get(saga) ?? {}])), [names, known]);
}
