; A bus with clock, camera, boom and thrusters (section 9.4); the commands come from outside.
(add-body b :name "bus" :translate (1 2 3) :body-rotation-axes (1 2 3))
(add-body c :parent b :body-rotation-axes 3 :inertia-matrix #(ci ci 0)
          :joint-coordinates #(0 0 !"-l1") :cm-coordinates #(0 0 l2))
(add-body d :parent c :body-rotation-axes 1 :parent-rotation-axis #(-1 0 0)
          :joint-coordinates #(0 !"-l3" 0) :cm-coordinates #(0 l5 l6))
(add-body e :parent b :mass 0 :inertia-matrix 0 :body-rotation-axes 3 :parent-rotation-axis 3
          :joint-coordinates #(0 !"-l7" 0))
(add-body f :parent e :body-rotation-axes 1 :parent-rotation-axis 1
          :inertia-matrix #(fi1 fi2 fi1) :cm-coordinates #(0 !"-l8" 0))
(add-moment bt1 :direction [e3] :body1 f :body2 b :magnitude !"-kb*q(9) - bb*u(9)")
(add-moment bt2 :direction [f1] :body1 f :body2 b :magnitude !"-kb*q(10) - bb*u(10)")
(add-variables difeqn real clkcmd camcmd)
(add-subroutine difeqn cmd t clkcmd camcmd)
(add-moment clockt :direction [c3] :body1 c :body2 b
            :magnitude !"kclock*(clkcmd - q(7)) - bclock*u(7)")
(add-moment camt :direction [d1] :body1 d :body2 c
            :magnitude !"kclock*(camcmd - q(8)) - bclock*u(8)")
(add-moment tt1 :direction [b1] :body1 b :magnitude !"ltt1*func(thrust, t, 1, gyro*u(4) + q(4))")
(add-moment tt2 :direction [b2] :body1 b :magnitude !"ltt2*func(thrust, t, 2, gyro*u(5) + q(5))")
(add-moment tt3 :direction [b3] :body1 b :magnitude !"ltt3*func(thrust, t, 3, gyro*u(6) + q(6))")
(mks)
(set-defaults l1 1.5 l2 .75 l3 .1 l5 .22 l6 .2 l7 1.2 l8 3.3 bm 410 cm 6.8 dm 57.5 fm 10.7
              bi11 115 bi12 -14 bi13 14 bi22 316 bi23 -34.6 bi33 440 ci .35
              di11 4.85 di12 -.41 di13 -.07 di22 2.2 di23 -.54 di33 5.5 fi1 27.2 fi2 .2
              ltt1 .23 ltt2 .21 ltt3 .31 kclock 3500 bclock 20 kb 2000 bb 10 step .02 stopt 30)
(add-coordinates-to-output)
(add-speeds-to-output)
(add-moments-to-output)
