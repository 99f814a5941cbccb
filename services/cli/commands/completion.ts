import { MeshError } from "../../../protocol/errors.ts";
import { didYouMean } from "../../../protocol/nearest.ts";
import { defineCommand, type Command } from "../frame/command.ts";
import type { CommandGroups } from "../frame/run.ts";
import { completionFor, shells } from "../telling/completion.ts";

/** What a shell reads to complete the words of these commands, made from what they declare. It asks no server. */
export const completionOf = (groups: CommandGroups): Command =>
  defineCommand({
    name: "completion",
    summary: "print what makes bash, zsh or fish complete commands, options and files",
    details:
      "bash: source <(sagamesh completion bash), in ~/.bashrc\n" +
      "zsh:  source <(sagamesh completion zsh), in ~/.zshrc after compinit\n" +
      "fish: sagamesh completion fish > ~/.config/fish/completions/sagamesh.fish",
    positionals: { shell: { help: "bash, zsh or fish", choices: shells } },
    options: {},
    without: ["server", "data", "json"],
    examples: ["source <(sagamesh completion bash)"],
    run: async ({ shell: word }, { output }) => {
      const shell = shells.find((one) => one === word);
      if (shell === undefined)
        throw new MeshError(
          "USAGE",
          `completion: expected bash, zsh or fish, got "${word}"${didYouMean(word, shells)}`,
          { remedy: "See sagamesh completion --help." },
        );
      const loaded = await Promise.all(
        Object.values(groups)
          .flatMap((group) => Object.values(group))
          .map((load) => load()),
      );
      output.print(undefined, () => completionFor(shell, loaded));
      return 0;
    },
  });
