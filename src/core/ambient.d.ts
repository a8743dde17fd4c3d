declare module 'mustache' {
  type Config = { readonly escape?: (value: unknown) => string };
  const Mustache: {
    parse(template: string): unknown;
    render(template: string, view: unknown, partials?: undefined, config?: Config): string;
  };
  export default Mustache;
}
