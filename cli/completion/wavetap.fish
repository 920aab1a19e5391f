# wavetap(1) completion for fish. It asks the program, which knows its commands, options, runs and kernels.

function __wavetap_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l typed $words[-1]
    for line in ($words[1] --complete $words[2..-1] 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path $typed
            case ':directories'
                __fish_complete_directories $typed
            case ':commands'
                __fish_complete_command
            case '*'
                printf '%s\n' $line
        end
    end
end

complete -c wavetap -f -k -a '(__wavetap_complete)'
