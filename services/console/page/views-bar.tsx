/** Views bar: the views one can go to, and what is shown now under a name of one's own. */
import { useState } from "preact/hooks";
import { forget, own, save } from "./own-views.ts";
import { usePlace } from "./route.ts";
import { useStore } from "./store.ts";
import { given, isSame, nameMax, searchOf, type View } from "./views.ts";

export function ViewsBar() {
  const { query } = usePlace();
  const mine = useStore(own);
  const [typed, setTyped] = useState<string>();
  const search = searchOf(query);
  const current = mine.find((one) => isSame(one.search, search));
  const isGiven = given.some((one) => isSame(one.search, search));
  return (
    <nav class="views" aria-label="saved views">
      <span class="muted">views</span>
      {[...given, ...mine].map((one) => (
        <ViewLink key={`${one.name} ${one.search}`} view={one} isCurrent={isSame(one.search, search)} />
      ))}
      {search === "" || isGiven ? null : current !== undefined ? (
        <button class="link" onClick={() => forget(current.name)}>
          Forget this view
        </button>
      ) : typed === undefined ? (
        <button class="link" onClick={() => setTyped("")}>
          Save this view…
        </button>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (typed.trim() !== "") save({ name: typed.trim(), search });
            setTyped(undefined);
          }}
        >
          <input
            ref={(input) => input?.focus()}
            aria-label="the view's name"
            placeholder="Its name"
            maxLength={nameMax}
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
          <button>Save</button>
        </form>
      )}
    </nav>
  );
}

const ViewLink = ({
  view: { name, search },
  isCurrent,
}: {
  readonly view: View;
  readonly isCurrent: boolean;
}) => (
  <a href={`/sagas${search}`} aria-current={isCurrent ? "page" : undefined}>
    {name}
  </a>
);
