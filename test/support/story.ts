/** Stories by chance, for properties. */
import type { given } from "../../services/testing/index.ts";

type Story = ReturnType<typeof given>;

/** The story with what of the past can happen in it: where nothing of that name is open, there is no such story. */
export function storyWith(begun: Story, past: readonly Parameters<Story["when"]>[0][]): Story {
  let story = begun;
  for (const next of past)
    try {
      story = story.when(next);
    } catch (error) {
      if (!String(error).includes("open")) throw error;
    }
  return story;
}
