/** Beside: a fork beside the saga that it was made of, with the first difference marked. */
import { useEffect } from "preact/hooks";
import type { TimelineDocument, TimelineItem } from "../documents.ts";
import { useAsked } from "./api.ts";
import { useLive, useSettled } from "./live.ts";
import { Refused, Status, Waiting } from "./marks.tsx";
import { besideEachOther, type Difference, type Pair } from "./pairs.ts";
import { sagaAt } from "./route.ts";
import { count, many, money, said } from "./words.ts";

interface Props {
  readonly timeline: TimelineDocument;
  /** Where it was made of, and the last turn that both share. */
  readonly fork: { readonly saga: string; readonly turn: number };
}

const againEveryMs = 2_000;
/** More are told of by their number: whoever reads further opens the two. */
const pairsMax = 300;

export function BesideTab({ timeline, fork }: Props) {
  const path = `/sagas/${encodeURIComponent(fork.saga)}/timeline`;
  const { data: origin, error, again } = useAsked<TimelineDocument>(path);
  const settled = useSettled(again, againEveryMs);
  useLive("moved", () => {
    if (origin?.status === "running") settled();
  });
  const isThere = origin !== undefined;
  useEffect(() => {
    if (isThere) document.getElementById("first-difference")?.scrollIntoView({ block: "center" });
  }, [isThere]);
  if (error !== undefined && origin === undefined) return <Refused error={error} />;
  if (origin === undefined) return <Waiting lines={10} />;
  const { pairs, first } = besideEachOther(origin.items, timeline.items, fork.turn);
  return (
    <div class="beside" tabIndex={0} role="region" aria-label="both runs">
      <p class="muted" role="status">
        {first === undefined
          ? `after turn ${fork.turn} both did the same`
          : `they share ${many(fork.turn, "turn")}; ${
              first === 0 ? "the first thing after it differs" : `then ${many(first, "thing")} are the same`
            }`}
      </p>
      <div class="pair heads">
        <Head title="the saga it was made of" timeline={origin} turn={fork.turn} />
        <Head title="this fork" timeline={timeline} turn={fork.turn} />
      </div>
      <ol>
        {pairs.slice(0, pairsMax).map((pair, k) => (
          <li
            key={k}
            class={`pair${pair.differs.length === 0 ? "" : " differs"}${k === first ? " first" : ""}`}
            id={k === first ? "first-difference" : undefined}
          >
            {k === first ? <p class="mark">{firstWords(pair)}</p> : null}
            <Side saga={origin.saga} item={pair.ours} />
            <Side saga={timeline.saga} item={pair.theirs} />
          </li>
        ))}
      </ol>
      {pairs.length <= pairsMax ? null : (
        <p class="muted">{many(pairs.length - pairsMax, "thing")} more are not shown.</p>
      )}
    </div>
  );
}

const words: Readonly<Record<Difference, string>> = {
  what: "another thing was done",
  with: "with other arguments",
  words: "in other words",
  outcome: "with another outcome",
};

const firstWords = ({ ours, theirs, differs }: Pair): string =>
  `The first difference: ${
    ours === undefined || theirs === undefined
      ? `only ${ours === undefined ? "the fork" : "the saga it was made of"} did this`
      : differs.map((one) => words[one]).join(", ")
  }`;

interface HeadProps {
  readonly title: string;
  readonly timeline: TimelineDocument;
  readonly turn: number;
}

/** What a run cost after the turn that both share, so that two models can be told apart by it. */
function Head({ title, timeline: { saga, status, items, turns }, turn }: HeadProps) {
  const own = items.filter(({ settledTurn = 0 }) => settledTurn > turn);
  const tokens = own.reduce((sum, item) => sum + (item.tokens ?? 0), 0);
  const usd = own.reduce((sum, item) => sum + (item.usd ?? 0), 0);
  return (
    <div>
      <h2>
        <Status status={status} /> <a href={sagaAt(saga)}>{saga}</a>
      </h2>
      <p class="muted">
        {title}: {many(turns, "turn")}
        {tokens === 0 ? "" : `, ${count(tokens)} tokens after they parted`}
        {usd === 0 ? "" : `, ${money(usd)}`}
      </p>
    </div>
  );
}

function Side({ saga, item }: { readonly saga: string; readonly item: TimelineItem | undefined }) {
  if (item === undefined) return <div class="side none muted">nothing</div>;
  return (
    <a class="side" href={sagaAt(saga, `?at=${encodeURIComponent(item.id)}`)}>
      <span>
        <span class={`kind ${item.kind}`}>{said(item.kind)}</span> <strong>{item.label}</strong>{" "}
        {item.status === "taken" || item.status === "succeeded" ? null : <Status status={item.status} />}
      </span>
      <span class="muted wrap">{item.words ?? item.reason ?? item.detail}</span>
    </a>
  );
}
