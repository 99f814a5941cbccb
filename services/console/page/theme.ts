/** Theme: light or dark as the system says, or as a person chose here. */
import { keep, kept } from "./kept.ts";
import { createStore } from "./store.ts";

export type Theme = "auto" | "light" | "dark";

const key = "sagamesh-theme";
const themes: readonly Theme[] = ["auto", "light", "dark"];

export const theme = createStore<Theme>(themes.find((one) => one === kept(key)) ?? "auto");

/** Shows the theme that was chosen. */
export function applyTheme(): void {
  const chosen = theme.now();
  if (chosen === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
}

/** The next one in turn. */
export function nextTheme(): void {
  const next = themes[(themes.indexOf(theme.now()) + 1) % themes.length] ?? "auto";
  theme.set(next);
  applyTheme();
  keep(key, next);
}
