/** Whether a link's label is the address of something else than where the link leads. Pure. */

const withScheme = /(?:https?:\/*|www\.)[^\s/]\S*/gi;
const bareHost = /^[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+(?::\d+)?(?:\/\S*)?$/u;
/** `README.md` is a file before it is a host of Moldova. */
const fileName =
  /\.(?:c|cc|cpp|cs|css|csv|docx?|go|h|html?|java|jpe?g|js|json|jsx|lock|log|md|mjs|pdf|php|png|pptx?|py|rb|rs|sh|sql|svg|tf|toml|ts|tsx|txt|xlsx?|xml|ya?ml|zip)$/i;

/** What a reader takes for a slash, a colon, or (before the last part of a host) a full stop. */
const slashes = /[\u2044\u2215\u29F8\u2571\u27CB]/g;
const colons = /[\uA789\u2236\u02F8\u0589]/g;
const stops =
  /[\u3002\u06D4\uA4F8\u00B7\u2027](?=[a-z]{2,63}(?:[/:?#]|$))|(?<=[a-z0-9])[\u3002\u00B7\u2027](?=[a-z0-9])/gi;
const unseen = /[*_~`\\\p{Cf}\p{Variation_Selector}]/gu;

/** `label` as it is read: its entities decoded. What they are that remain is not known, so it may be an address. */
export function tellsAnotherAddress({ label, address }: { label: string; address: string }): boolean {
  return /&[a-z]\w{0,40};/i.test(label) || addressesIn(label).some((said) => !isSame({ said, address }));
}

function isSame({ said, address }: { said: string; address: string }): boolean {
  const [toldUrl, realUrl] = [URL.parse(said), URL.parse(address)];
  if (toldUrl === null || realUrl === null) return false;
  return hostOf(toldUrl) === hostOf(realUrl) && realUrl.pathname.startsWith(toldUrl.pathname.replace(/[./…]+$/, ""));
}

function addressesIn(label: string): string[] {
  const plain = label
    .normalize("NFKC")
    .replace(unseen, "")
    .replace(slashes, "/")
    .replace(colons, ":")
    .replace(stops, ".")
    .trim();
  const found = plain.match(withScheme) ?? (bareHost.test(plain) && !fileName.test(plain) ? [plain] : []);
  return found.map((said) => (/^https?:/i.test(said) ? said : `https://${said}`));
}

function hostOf({ host }: URL): string {
  return host.replace(/^www\./, "");
}
