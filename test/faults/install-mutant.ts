/** Loads the product with one safeguard removed. */
import { type LoadHookContext, registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { type Mutant, mutants } from "./mutants.ts";

/** From now on the product is loaded with that mutant. Throws where the mutant does not fit the product any more. */
export function installMutant({ name }: { name: string }): void {
  const mutant = mutants.find((one) => one.name === name);
  if (mutant === undefined) throw new Error(`There is no mutant "${name}".`);
  registerHooks({
    load(url, context: LoadHookContext, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.startsWith("file:") || !fileURLToPath(url).endsWith(`/${mutant.file}`))
        return loaded;
      return { ...loaded, source: mutated({ mutant, source: String(loaded.source) }) };
    },
  });
}

function mutated({
  mutant: { name, find, replace },
  source,
}: {
  mutant: Mutant;
  source: string;
}): string {
  const parts = source.split(find);
  if (parts.length !== 2) {
    throw new Error(
      `The mutant "${name}" fits ${parts.length - 1} places of its file; it must be one.`,
    );
  }
  return parts.join(replace);
}
