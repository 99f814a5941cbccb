/** Own views: those that a person gave a name to, kept in this browser. */
import { keep, kept } from "./kept.ts";
import { createStore } from "./store.ts";
import { type View, viewsIn, viewsMax } from "./views.ts";

const key = "sagamesh-views";

/** A person's own, by name. */
export const own = createStore(viewsIn(kept(key)));

/** Another tab may have kept some since. */
const now = (): readonly View[] => viewsIn(kept(key) ?? JSON.stringify(own.now()));

function hold(views: readonly View[]): void {
  own.set(views);
  keep(key, JSON.stringify(views));
}

/** In the place of one of that name. */
export function save(view: View): void {
  const others = now().filter(({ name }) => name !== view.name);
  hold([...others, view].sort((a, b) => a.name.localeCompare(b.name)).slice(0, viewsMax));
}

export const forget = (name: string): void => hold(now().filter((one) => one.name !== name));
