export const fishScript = (): string => `# fish completion for opsctl
function __opsctl_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (opsctl __describe $words[2..-1] 2>/dev/null)
    switch "$found[-1]"
        case ':file'
            __fish_complete_path (commandline -ct)
        case ':directory'
            __fish_complete_directories (commandline -ct)
        case '*'
            test (count $found) -gt 1; and printf '%s\\n' $found[1..-2]
    end
end
complete -c opsctl -f -a '(__opsctl_complete)'
`;
