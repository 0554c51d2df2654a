/**
 * Stands for the package `linkify-it` in the bundle: addresses that nobody marked as links stay text, so that it is never
 * asked.
 */
export class LinkifyIt {
  test(): boolean {
    return false;
  }

  match(): null {
    return null;
  }
}
