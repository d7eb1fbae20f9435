/** The simulation's entry: reads the command line, replaces time, and only then loads the product. */
// The product's schemas are compiled: they do the same in less time.
import "zod/compile";
import { installMutant } from "./install-mutant.ts";
import { help, type Options, readOptions } from "./options.ts";
import { buildVersions, loadVersions } from "./versions/build.ts";
import { installVirtualTime } from "./virtual-time.ts";

function options(): Options | undefined {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${help}\n`);
    return undefined;
  }
}

const parsedOptions = options();
if (parsedOptions === undefined) process.exitCode = 2;
else if (parsedOptions.isHelp) process.stdout.write(`${help}\n`);
else {
  try {
    // The builds need real time.
    const hasMix =
      parsedOptions.mixes.length > 0 ||
      parsedOptions.replay?.split("/")[5] ||
      parsedOptions.scenarios !== undefined;
    const builds = hasMix ? await buildVersions(parsedOptions.old) : undefined;
    installVirtualTime();
    if (parsedOptions.mutant !== undefined) installMutant({ name: parsedOptions.mutant });
    if (builds !== undefined) await loadVersions(builds);
    const { main } = await import("./main.ts");
    process.exitCode = await main(parsedOptions);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
  }
}
