/** The generated part of `docs/reference/commands.md`, made from the help of each command. */
import { awsExits, type CommandHelp } from "@sekisho/sekisho/command.ts";
import { commands } from "@sekisho/sekisho/main.ts";
import { escapeProse, formatTable } from "./markdown.ts";

/** An option that so many commands describe alike stands once, in the table of shared options. */
const minSharingCommands = 3;

type NamedHelp = { name: string; summary: string; help: CommandHelp };

export async function commandsPart(): Promise<string> {
  const described: NamedHelp[] = await Promise.all(
    Object.entries(commands).map(async ([name, { summary, load }]) => ({
      name,
      summary,
      help: await load(),
    })),
  );
  const index = described.map(({ name, summary }) => [
    `[${name}](#${name.replaceAll(" ", "-")})`,
    escapeProse(summary),
  ]);
  const shared = sharedOptions(described);
  return [
    formatTable(["command", "what it does"], index),
    "Options of several commands:",
    formatTable(["option", "meaning"], shared.map(formatOption)),
    ...described.map((one) => formatSection(one, shared)),
  ].join("\n\n");
}

type Option = CommandHelp["options"][number];

const isSame = (a: Option) => (b: Option) => a.name === b.name && a.help === b.help;

/** Each option that enough commands describe alike. Of an option with several meanings, only the most frequent one is shared. */
function sharedOptions(described: readonly NamedHelp[]): Option[] {
  const all = described.flatMap(({ help }) => help.options);
  const countOf = (option: Option) => all.filter(isSame(option)).length;
  const names = [...new Set(all.map(({ name }) => name))];
  return names.flatMap((name) => {
    const [first] = all
      .filter((option) => option.name === name)
      .sort((a, b) => countOf(b) - countOf(a));
    return first !== undefined && countOf(first) >= minSharingCommands ? [first] : [];
  });
}

function formatOption({ name, help }: Option): string[] {
  return [`\`${name}\``, escapeProse(help)];
}

function formatSection(
  { name, help: { usage, about, options, exits } }: NamedHelp,
  shared: readonly Option[],
): string {
  const isShared = (option: Option) => shared.some(isSame(option));
  const ownRows = options.filter((option) => !isShared(option)).map(formatOption);
  const sharedNames = options.filter(isShared).map((option) => `\`${option.name}\``);
  const parts = [`## ${name}`];
  // The heading says the rest of the usage.
  if (usage !== `sekisho ${name} [options]`) parts.push(`\`${usage}\``);
  parts.push(formatHelpText(about));
  if (ownRows.length > 0) parts.push(formatTable(["option", "meaning"], ownRows));
  if (sharedNames.length > 0)
    parts.push(`${ownRows.length > 0 ? "Also" : "Options"}: ${sharedNames.join(", ")}.`);
  return [...parts, formatHelpText(ownExits(exits))].filter((part) => part !== "").join("\n\n");
}

/** The exit codes without those that the beginning of the page explains for all commands. */
function ownExits(exits: string): string {
  const [begin, end] = awsExits("|").split("|, or AWS refused");
  if (begin === undefined || end === undefined || !exits.startsWith(begin)) return exits;
  if (!exits.endsWith(end)) return exits;
  const failure = exits.slice(begin.length, -end.length);
  const ownFailure = failure.replace(/(?:^|, or )AWS refused$/, "");
  return ownFailure === "" ? "" : `Exit code 1: ${ownFailure}.`;
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
