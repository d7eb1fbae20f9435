/** The generated part of `docs/reference/commands.md`, made from the help of each command. */
import type { CommandHelp } from "@sekisho/sekisho/command.ts";
import { commands } from "@sekisho/sekisho/main.ts";
import { escapeProse, formatTable } from "./markdown.ts";

export async function commandsPart(): Promise<string> {
  const rows: string[][] = [];
  const sections: string[] = [];
  for (const [name, { summary, load }] of Object.entries(commands)) {
    rows.push([`[${name}](#${name.replaceAll(" ", "-")})`, escapeProse(summary)]);
    sections.push(formatSection({ name, help: await load() }));
  }
  return [formatTable(["command", "what it does"], rows), ...sections].join("\n\n");
}

function formatSection({
  name,
  help: { usage, about, options, exits },
}: {
  name: string;
  help: CommandHelp;
}): string {
  const rows = options.map(({ name, help }) => [`\`${name}\``, escapeProse(help)]);
  const parts = [`## ${name}`, asText(usage), formatHelpText(about)];
  if (rows.length > 0) parts.push(formatTable(["option", "meaning"], rows));
  return [...parts, formatHelpText(exits)].filter((part) => part !== "").join("\n\n");
}

/** Paragraphs of the help become paragraphs. Indented lines are laid out for a terminal, and stay as they are. */
function formatHelpText(text: string): string {
  const paragraphs = text.split(/\n{2,}|\n(?=Exit code)/).filter((paragraph) => paragraph !== "");
  return paragraphs
    .map((paragraph) => (paragraph.startsWith("  ") ? asText(paragraph) : escapeProse(paragraph)))
    .join("\n\n");
}

function asText(text: string): string {
  return `\`\`\`text\n${text}\n\`\`\``;
}
