/** The pages of the reference that are generated. */
import { commandsPart } from "./commands-page.ts";
import { configurationPart } from "./configuration-page.ts";
import { replaceGenerated } from "./markdown.ts";

/** The texts by path, as they should be. `read` returns a page as it is, because its beginning is written by hand. */
export async function referencePages(
  readPage: (path: string) => string,
): Promise<ReadonlyMap<string, string>> {
  const parts: [path: string, generated: string][] = [
    ["docs/reference/commands.md", await commandsPart()],
    ["docs/reference/configuration.md", configurationPart()],
  ];
  return new Map(
    parts.map(([path, content]) => [path, replaceGenerated({ page: readPage(path), content })]),
  );
}
