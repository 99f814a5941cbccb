/** Story: why everything happened, in plain sentences. */
import type { StoryDocument } from "../documents.ts";
import { useAsked } from "./api.ts";
import { Refused, Waiting } from "./marks.tsx";
import { chosen } from "./route.ts";
import { moment } from "./words.ts";

interface Props {
  readonly saga: string;
  readonly turn: number | undefined;
  readonly turns: number;
}

export function StoryTab({ saga, turn, turns }: Props) {
  const { data, error } = useAsked<StoryDocument>(
    `/sagas/${encodeURIComponent(saga)}/why?turn=${turn ?? turns}`,
    true,
  );
  if (error !== undefined) return <Refused error={error} />;
  if (data === undefined) return <Waiting lines={12} />;
  return (
    <div class="story" tabIndex={0} role="region" aria-label="story">
      <h2>In sum</h2>
      <ul>
        {data.sum.map(({ text }, k) => (
          <li key={k}>{text}</li>
        ))}
      </ul>
      <h2>Turn by turn</h2>
      <ol class="sentences">
        {data.sentences.map(({ turn: of, at, text, about, intent }, k) => {
          const isFirst = data.sentences[k - 1]?.turn !== of;
          return (
            <li key={k} class={isFirst ? "first" : undefined}>
              <span class="muted turn-mark" title={moment(at)}>
                {isFirst ? `#${of}` : ""}
              </span>
              <span class={`about ${about}`}>{text}</span>{" "}
              {intent === undefined ? null : <a href={chosen({ at: intent })}>{intent}</a>}
            </li>
          );
        })}
      </ol>
    </div>
  );
}
