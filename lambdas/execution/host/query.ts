/** One parameter of a URL's query. */

/** `search` with or without its question mark. The first of that name, in any letter case; undefined where there is none. */
export function queryParameter({ search, name }: { search: string; name: string }): string | undefined {
  if (search === "") return undefined;
  const wanted = name.toLowerCase();
  for (const [key, value] of new URLSearchParams(search)) if (key.toLowerCase() === wanted) return value;
  return undefined;
}
