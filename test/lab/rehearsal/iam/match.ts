/** Wildcards of policies: `*` is any text, `?` is any one character. */

export function matches({ pattern, text }: { pattern: string; text: string }): boolean {
  const source = pattern
    .replace(/[\\^$.+()[\]{}|]/g, "\\$&")
    .replaceAll("*", ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${source}$`, "s").test(text);
}

/** Actions are case-insensitive. */
export function matchesAction({ pattern, action }: { pattern: string; action: string }): boolean {
  return matches({ pattern: pattern.toLowerCase(), text: action.toLowerCase() });
}

/** Compares ARNs field by field, so that `*` does not match a colon. All behind the fifth colon is one field. */
export function matchesArn({ pattern, arn }: { pattern: string; arn: string }): boolean {
  const wanted = fieldsOf(pattern);
  const arnFields = fieldsOf(arn);
  return (
    wanted.length === arnFields.length &&
    wanted.every((field, index) => matches({ pattern: field, text: arnFields[index] ?? "" }))
  );
}

function fieldsOf(arn: string): string[] {
  const fields = arn.split(":");
  return fields.length <= 6 ? fields : [...fields.slice(0, 5), fields.slice(5).join(":")];
}
