/** Which media types count as JSON. */

/** `application/json` and `application/…+json`, in UTF-8 or without a charset. An absent type is taken at its body's word. */
export function isJson(contentType: string | null | undefined): boolean {
  if (contentType === null || contentType === undefined || contentType === "") return true;
  return /^application\/([a-z0-9.-]+\+)?json\s*(;\s*charset="?utf-?8"?\s*)?$/i.test(contentType.trim());
}
