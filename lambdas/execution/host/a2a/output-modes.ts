/** Whether a client can take anything that agents make (A2A 1.0, section 3.2.2: acceptedOutputModes). Pure. */
import { SekishoError } from "../../../../contracts/errors.ts";

const made = ["text/plain", "application/json", "application/octet-stream"];

/** Nothing said is anything. Throws `content_type_not_supported`. */
export function checkOutputModes(accepted: readonly string[] | undefined): void {
  if (accepted !== undefined && !accepted.some(isMade)) throw new SekishoError("content_type_not_supported");
}

/** `*` stands for any type or subtype; older clients say only `text`. */
function isMade(mode: string): boolean {
  const [type = "", subtype = "*"] = (mode.split(";", 1)[0] ?? "").trim().toLowerCase().split("/");
  return made.some((known) => {
    const [knownType, knownSubtype] = known.split("/");
    return (type === "*" || type === knownType) && (subtype === "*" || subtype === knownSubtype);
  });
}
