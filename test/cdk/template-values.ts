/** What CloudFormation's functions in a template come to, as far as a test wants to know. */

/** The text of a Fn::Join, its references left out. */
export function joined(value: unknown): string {
  if (typeof value === "string") return value;
  const { "Fn::Join": [separator, parts] = ["", []] } = value as { "Fn::Join"?: [string, unknown[]] };
  return parts.map((part) => (typeof part === "string" ? part : "")).join(separator);
}

/** The logical id behind a Ref or a Fn::GetAtt. */
export function referenced(value: unknown): string {
  const { Ref, "Fn::GetAtt": attribute } = value as { Ref?: string; "Fn::GetAtt"?: string[] };
  return Ref ?? attribute?.[0] ?? "";
}
