/**
 * Replaces the package `linkify-it` in the bundle: addresses that are not marked as links stay text, so it is never
 * called.
 */
export class LinkifyIt {
  test(): boolean {
    return false;
  }

  match(): null {
    return null;
  }
}
