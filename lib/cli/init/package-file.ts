/** Adds the scripts and the type of module that a project needs to the text of a package.json. */
import { setMember } from "../set-member.ts";

/** `added` names what the new text has in addition. `taken` names the scripts that do something else, which stay. */
export type PackageChange = { text: string; added: string[]; taken: string[] };

/** Keeps every member and the layout of the text. With `"type": "module"` Node reads the files as ES modules without a warning. */
export function changePackage(
  text: string,
  scripts: Readonly<Record<string, string>>,
): PackageChange {
  const manifest = Object(JSON.parse(text));
  const ownScripts = Object(manifest.scripts);
  const newScripts = Object.entries(scripts).filter(([name]) => !Object.hasOwn(ownScripts, name));
  const added = [
    ...(manifest.type === undefined ? ['"type": "module"'] : []),
    ...(newScripts.length === 0 ? [] : [`scripts ${newScripts.map(([name]) => name).join(", ")}`]),
  ];
  const typedText = manifest.type === undefined ? setMember(text, ["type"], "module") : text;
  return {
    text: newScripts.reduce(
      (newText, [name, command]) => setMember(newText, ["scripts", name], command),
      typedText,
    ),
    added,
    taken: Object.keys(scripts).filter(
      (name) => Object.hasOwn(ownScripts, name) && ownScripts[name] !== scripts[name],
    ),
  };
}
