/** A reader of Prometheus's text format, as far as ours is written in it; throws for a line that is none of it. */

export type Sample = { name: string; labels: Record<string, string>; value: number };

export function readSamples(text: string): Sample[] {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const [, name = "", writtenText = "", value = ""] =
        /^([a-z_][a-z0-9_]*)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? [];
      if (name === "" || Number.isNaN(Number(value.replace("+Inf", "Infinity"))))
        throw new Error(`No sample: ${line}`);
      const labels = [...writtenText.matchAll(/([a-z_][a-z0-9_]*)="((?:[^"\\]|\\.)*)"/gi)];
      return {
        name,
        labels: Object.fromEntries(labels.map(([, label, of]) => [label, of])),
        value: Number(value),
      };
    });
}

/** The sum of all samples of that name whose labels are the given ones, and perhaps more. */
export function sumOf(
  samples: readonly Sample[],
  name: string,
  labels: Record<string, string> = {},
): number {
  return samples
    .filter(
      (sample) =>
        sample.name === name &&
        Object.entries(labels).every(([key, of]) => sample.labels[key] === of),
    )
    .reduce((sum, { value }) => sum + value, 0);
}
